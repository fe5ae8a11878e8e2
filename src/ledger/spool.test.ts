import { afterAll, expect, test } from 'bun:test'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Settle } from './engine.ts'
import { release } from './ledger.ts'
import { JournalError } from './segment.ts'
import { Spool } from './spool.ts'
import { generationColumns } from './tables.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-spool-'))
afterAll(() => rmSync(folder, { recursive: true }))

let count = 0
function newFolder(): string {
  return mkdtempSync(join(folder, `${++count}-`))
}

function settlement(id: string): Settle {
  return {
    ...release(id, 'org'),
    isByok: true,
    spent: { amount: 7n, byok: 9n },
    generation: generationColumns.slice(0, -2).map((column) => (column === 'id' ? id : `${column} \u2028\n`)),
    countsIn: { subjects: ['key:1', 'organization:org'], day: '2031-01-01' },
    companions: [{ sql: 'insert into t values ($1)', values: ['a'] }],
  }
}

const left = (path: string) => new Spool(path).readLeft()

test('R7 what is kept is what the next process reads, each once, until it is delivered', async () => {
  const path = newFolder()
  const spool = new Spool(path)
  await spool.keep([settlement('gen-1')])
  await spool.keep([settlement('gen-1'), settlement('gen-2')])
  const next = new Spool(path)
  const found = next.readLeft()
  expect(found.settlements).toEqual([
    { ...settlement('gen-1'), again: true },
    { ...settlement('gen-2'), again: true },
  ])
  // What it has to keep itself goes elsewhere.
  await next.keep([settlement('gen-3')])
  expect(left(path).settlements.map(({ id }) => id)).toEqual(['gen-1', 'gen-2', 'gen-3'])
  next.delivered(found)
  expect(left(path).settlements.map(({ id }) => id)).toEqual(['gen-3'])
})

test('R7 the file is gone when all in it are done', async () => {
  const path = newFolder()
  const spool = new Spool(path)
  await spool.keep([settlement('gen-1'), settlement('gen-2')])
  spool.done([settlement('gen-1')])
  expect(readdirSync(path)).toHaveLength(1)
  spool.done([settlement('gen-2')])
  while (readdirSync(path).length > 0) await Bun.sleep(1)
  await spool.keep([settlement('gen-4')])
  expect(left(path).settlements.map(({ id }) => id)).toEqual(['gen-4'])
})

test('R7 a torn end is left out; damage to what was on disk stops the start, and names the file', async () => {
  const path = newFolder()
  const spool = new Spool(path)
  await spool.keep([settlement('gen-1')])
  await spool.keep([settlement('gen-2')])
  const [name = ''] = readdirSync(path)
  const file = join(path, name)
  appendFileSync(file, 'unsent 1 12345 0 0 settle gen-3 [tor')
  expect(left(path).settlements.map(({ id }) => id)).toEqual(['gen-1', 'gen-2'])
  writeFileSync(file, readFileSync(file, 'utf8').replace('key:1', 'key:2'))
  expect(() => left(path)).toThrow(JournalError)
  expect(() => left(path)).toThrow(file)
})
