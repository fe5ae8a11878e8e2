import { afterAll, expect, spyOn, test } from 'bun:test'
import * as fs from 'node:fs'
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { toGenerationRecord } from '../../test/support/generations.ts'
import type { Settlement } from './engine.ts'
import { draftColumns, outcomeColumns } from './generation.ts'
import { encodeColumns } from './journal-line.ts'
import { JournalError, SegmentFile, segmentPath } from './journal-segment.ts'
import { createRelease } from './settlement.ts'
import { Spool } from './spool.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-spool-'))
afterAll(() => rmSync(folder, { recursive: true }))

let count = 0
function newFolder(): string {
  return mkdtempSync(join(folder, `${++count}-`))
}

function settlement(id: string): Settlement {
  return {
    ...createRelease(id, 'org'),
    isByok: true,
    spent: { amount: 7n, byok: 9n },
    generation: toGenerationRecord({
      ...Object.fromEntries(
        [...draftColumns, ...outcomeColumns].map((column) => [column, `${column} \u2028\n`]),
      ),
      id,
    }),
    meteredIn: { subjects: ['key:1', 'organization:org'], day: '2031-01-01' },
    extraStatements: [{ sql: 'insert into t values ($1)', values: ['a'] }],
  }
}

const silent = pino({ level: 'silent' })
const left = (path: string) => new Spool(path, silent).readLeftovers()
/** Ids in sorted order, because each process has a file. */
const idsLeft = (path: string) =>
  left(path)
    .map(({ id }) => id)
    .sort()

/** Files are removed once no sync is pending. */
async function until(isDone: () => boolean): Promise<void> {
  while (!isDone()) await Bun.sleep(1)
}

test('R7 spooled settlements are read by the next process, each once, until they are delivered', async () => {
  const path = newFolder()
  const spool = new Spool(path, silent)
  await spool.write([settlement('gen-1')])
  await spool.write([settlement('gen-1'), settlement('gen-2')])
  const next = new Spool(path, silent)
  const leftovers = next.readLeftovers()
  expect(leftovers).toEqual([
    { ...settlement('gen-1'), isRetry: true },
    { ...settlement('gen-2'), isRetry: true },
  ])
  // It writes its own settlements to another file.
  await next.write([settlement('gen-3')])
  expect(idsLeft(path)).toEqual(['gen-1', 'gen-2', 'gen-3'])
  next.markDelivered(leftovers)
  await until(() => readdirSync(path).length === 1)
  expect(idsLeft(path)).toEqual(['gen-3'])
})

test('R7 a file is removed when all in it are delivered', async () => {
  const path = newFolder()
  const spool = new Spool(path, silent)
  await spool.write([settlement('gen-1'), settlement('gen-2')])
  spool.markDelivered([settlement('gen-1')])
  expect(readdirSync(path)).toHaveLength(1)
  spool.markDelivered([settlement('gen-2')])
  await until(() => readdirSync(path).length === 0)
  await spool.write([settlement('gen-4')])
  expect(idsLeft(path)).toEqual(['gen-4'])
})

test('R7 a torn end is ignored; damage to what was on disk fails the start, and names the file', async () => {
  const path = newFolder()
  const spool = new Spool(path, silent)
  await spool.write([settlement('gen-1')])
  await spool.write([settlement('gen-2')])
  const [name = ''] = readdirSync(path)
  const file = join(path, name)
  appendFileSync(file, 'unsent 1 12345 0 0 settle gen-3 [tor')
  expect(idsLeft(path)).toEqual(['gen-1', 'gen-2'])
  writeFileSync(file, readFileSync(file, 'utf8').replace('key:1', 'key:2'))
  expect(() => left(path)).toThrow(JournalError)
  expect(() => left(path)).toThrow(file)
})

test('R7 a write to a full disk is retried with the same lines, and counts only once it is synced', async () => {
  const path = newFolder()
  const spool = new Spool(path, silent)
  const waiting = [settlement('gen-1'), settlement('gen-2')]
  const full = spyOn(fs, 'writeSync').mockImplementation(() => {
    throw new Error('ENOSPC')
  })
  try {
    for (let attempt = 0; attempt < 5; attempt++)
      expect(await spool.write(waiting).catch(String)).toContain('ENOSPC')
  } finally {
    full.mockRestore()
  }
  const unsynced = spyOn(SegmentFile.prototype, 'sync').mockRejectedValue(new Error('EIO'))
  try {
    for (let attempt = 0; attempt < 2; attempt++)
      expect(await spool.write(waiting).catch(String)).toContain('EIO')
  } finally {
    unsynced.mockRestore()
  }
  await spool.write(waiting)
  const [name = ''] = readdirSync(path)
  expect(readFileSync(join(path, name), 'utf8').split('\n')).toHaveLength(2)
  expect(idsLeft(path)).toEqual(['gen-1', 'gen-2'])
})

test('R7 large files are closed, and each is removed when its settlements are delivered', async () => {
  const path = newFolder()
  const spool = new Spool(path, silent)
  const long = (id: string): Settlement => ({
    ...settlement(id),
    extraStatements: [{ sql: 'insert into t values ($1)', values: ['a'.repeat(5 * 1024 * 1024)] }],
  })
  for (const id of ['gen-1', 'gen-2', 'gen-3']) await spool.write([long(id)])
  expect(readdirSync(path)).toHaveLength(2)
  spool.markDelivered([settlement('gen-1'), settlement('gen-2')])
  await until(() => readdirSync(path).length === 1)
  expect(idsLeft(path)).toEqual(['gen-3'])
})

test('R7 what an earlier process left is not written again while it waits', async () => {
  const path = newFolder()
  await new Spool(path, silent).write([settlement('gen-1')])
  const next = new Spool(path, silent)
  await next.write(next.readLeftovers())
  expect(readdirSync(path)).toHaveLength(1)
})

test('R7 a file of a newer format fails the start, and names the file', () => {
  const path = newFolder()
  const file = new SegmentFile(segmentPath(join(path, 'unsent'), 1))
  file.begin({ journal: 'unsent', number: 1 }, Promise.resolve(), 0)
  file.append(['columns 1000 ["id"]', 'settle gen-1 ["org",false,"7","0",{"id":"gen-1"},[]]'])
  expect(() => left(path)).toThrow(JournalError)
  expect(() => left(path)).toThrow(file.path)
})

test('R7 a column that an earlier version did not write is empty', () => {
  const path = newFolder()
  const file = new SegmentFile(segmentPath(join(path, 'unsent'), 1))
  file.begin({ journal: 'unsent', number: 1 }, Promise.resolve(), 0)
  file.append([encodeColumns(['id']), 'settle gen-1 ["org",false,"7","0",["gen-1"],[]]'])
  const [settled] = left(path)
  const { draft, outcome = [] } = settled?.generation ?? {}
  const written = (column: (typeof outcomeColumns)[number]) => outcome[outcomeColumns.indexOf(column)]
  expect([draft?.id, draft?.streamed, draft?.user_agent]).toEqual(['gen-1', 0, null])
  expect([written('tokens_input'), written('is_byok'), written('flag')]).toEqual([0, 0, null])
})

test('R7 a file with a settlement that the database rejects is preserved under another name', async () => {
  const path = newFolder()
  await new Spool(path, silent).write([settlement('gen-1'), settlement('gen-2')])
  const next = new Spool(path, silent)
  const [first, second] = next.readLeftovers()
  if (!first || !second) throw new Error('nothing was left')
  next.markRejected(first)
  next.markDelivered([second])
  await until(() => readdirSync(path)[0] === 'unsent-ledger-1.refused-1')
  expect(idsLeft(path)).toEqual([])
})
