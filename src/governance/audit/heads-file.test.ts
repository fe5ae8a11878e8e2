import { afterAll, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appendHead, headsFilePath, readHeadsFile } from './heads-file.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-heads-'))
afterAll(() => rmSync(folder, { recursive: true }))

const time = '2030-01-01T00:00:00.000Z'
const headOf = (seq: number) => ({ chain_id: 'anchors', seq, hash: 'h'.repeat(43) })

test('heads are read in the order in which they were noted', async () => {
  const path = headsFilePath(folder)
  expect(await readHeadsFile(path)).toBeNull()
  await appendHead(path, time, headOf(1))
  await appendHead(path, time, headOf(7))
  expect(await readHeadsFile(path)).toEqual([headOf(1), headOf(7)])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test('a part of a line that a crash left is ignored, and not continued', async () => {
  const path = join(folder, 'torn.txt')
  await appendHead(path, time, headOf(1))
  appendFileSync(path, `${time} anch`)
  expect(await readHeadsFile(path)).toEqual([headOf(1)])
  await appendHead(path, time, headOf(2))
  expect(await readHeadsFile(path)).toEqual([headOf(1), headOf(2)])
})

test('S13 the file is bounded, and its last heads are carried over', async () => {
  const path = join(folder, 'long.txt')
  await appendHead(path, time, headOf(1))
  const line = readFileSync(path, 'utf8')
  appendFileSync(path, line.repeat(Math.ceil((256 * 1024) / line.length)))
  await appendHead(path, time, headOf(2))
  const heads = await readHeadsFile(path)
  expect(heads).toHaveLength(501)
  expect(heads?.slice(-2)).toEqual([headOf(1), headOf(2)])
})

test('a line that is not a head is named', async () => {
  const path = join(folder, 'wrong.txt')
  await appendHead(path, time, headOf(1))
  appendFileSync(path, 'something else\n')
  expect(readHeadsFile(path)).rejects.toThrow(`Line 2 of ${path} is not a head`)
})
