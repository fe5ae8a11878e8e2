import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, spyOn, test } from 'bun:test'
import * as fs from 'node:fs'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { closeDb, migrate, openDb } from '../platform/db/db.ts'
import { systemClock } from '../platform/time/clock.ts'
import { emptyDraft } from './draft.ts'
import type { AdmitOperation, Settlement } from './engine.ts'
import { Ledger } from './ledger.ts'
import type { Limit } from './ledger-state.ts'
import { createRelease } from './settlement.ts'
import { SqliteEngine } from './sqlite-engine.ts'

const silent = pino({ level: 'silent' })

let folder: string
let path: string
let engine: SqliteEngine
let ledger: Ledger
let lock: Database

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'headgate-sole-'))
  path = join(folder, 'headgate.sqlite')
  const db = openDb(path)
  await migrate(db)
  const organization = { id: 'org', name: 'Org', is_operator: 1, created_at: '2031-01-01' } as const
  await db.insertInto('organizations').values(organization).execute()
  await closeDb(db)
  engine = new SqliteEngine(path, systemClock, silent)
  ledger = new Ledger(engine, systemClock, silent)
  await ledger.open()
  lock = new Database(path)
})

afterEach(async () => {
  if (lock.inTransaction) lock.run('rollback')
  lock.close()
  await engine.close()
  rmSync(folder, { recursive: true })
})

function admission(id: string, day: string, key = 'key:1', limits: Limit[] = []): AdmitOperation {
  return {
    op: 'admit',
    organizationId: 'org',
    owner: 'node',
    expiresAt: '2999',
    draft: emptyDraft,
    request: { id, subjects: ['organization:org', key], day, limits, free: null, amount: 1n, byok: 0n },
  }
}

function settlement(id: string, amount: bigint): Settlement {
  return { ...createRelease(id, 'org'), spent: { amount, byok: 0n } }
}

function monthly(subject: string, amount: bigint): Limit {
  return { kind: 'key', subject, window: 'month', includeByok: false, amount }
}

test('R7 with the database locked, a new day begins, and requests in progress are charged', async () => {
  await ledger.admit(admission('gen-1', '2031-01-01'))
  lock.run('begin immediate')
  await Promise.all([ledger.admit(admission('gen-2', '2031-01-02')), ledger.settle(settlement('gen-1', 5n))])
  await ledger.admit(admission('gen-3', '2031-01-01'))
})

test('R7 with the database locked, a key that was not used since the start is admitted', async () => {
  await ledger.admit(admission('gen-1', '2031-01-01'))
  lock.run('begin immediate')
  await ledger.admit(admission('gen-2', '2031-01-01', 'key:2'))
  await ledger.settle(settlement('gen-1', 5n))
})

test('R7 limits are exact across days while segments wait for a locked database', async () => {
  await ledger.admit(admission('gen-1', '2031-01-01'))
  await ledger.settle(settlement('gen-1', 5n))
  await ledger.flush()
  lock.run('begin immediate')
  for (const [index, day] of ['02', '01', '03', '02', '04', '01'].entries()) {
    await ledger.admit(admission(`gen-${day}-${index}`, `2031-01-${day}`))
    await ledger.settle(settlement(`gen-${day}-${index}`, 5n))
    // Closes a segment, which cannot be flushed.
    engine.flush()?.catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
  }
  // Seven settlements of 5 in the month: one more of 1 fits below 36, and not below 35.
  const rejected = await ledger.admit(admission('gen-a', '2031-01-05', 'key:1', [monthly('key:1', 35n)]))
  expect(rejected).toMatchObject({ reason: 'limit', window: 'month', available: 0n })
  expect(await ledger.admit(admission('gen-b', '2031-01-02', 'key:1', [monthly('key:1', 36n)]))).toBeNull()
  lock.run('rollback')
  await ledger.settle(settlement('gen-b', 1n))
  await ledger.flush()
  const sum = `select (select total_nanos from meters where subject = 'key:1') as total,
    (select month_nanos from meters where subject = 'key:1') as month`
  expect(lock.query(sum).get()).toEqual({ total: 36, month: 36 })
})

test('R7 a settlement that needs a hold from a locked database delays no other', async () => {
  await ledger.admit(admission('gen-1', '2031-01-01'))
  lock.run('begin immediate')
  const unknown = ledger.settle(settlement('gen-unknown', 0n))
  await ledger.settle(settlement('gen-1', 5n))
  await ledger.admit(admission('gen-2', '2031-01-02'))
  lock.run('rollback')
  await unknown
})

test('R1 a hold whose meters are in memory is decided without a promise, and survives the end of the process', async () => {
  expect(ledger.admit(admission('gen-1', '2031-01-01'))).toBeInstanceOf(Promise)
  await ledger.settle(settlement('gen-1', 5n))
  expect(ledger.admit(admission('gen-2', '2031-01-01'))).toBeNull()
  const exceeding = admission('gen-3', '2031-01-01', 'key:1', [monthly('key:1', 6n)])
  expect(ledger.admit(exceeding)).toMatchObject({ reason: 'limit', available: 0n, needed: 1n })
  // As a process that starts after this one was killed.
  const copy = join(folder, 'copy')
  fs.mkdirSync(copy)
  for (const name of fs.readdirSync(folder).filter((entry) => entry.startsWith('headgate.sqlite')))
    fs.copyFileSync(join(folder, name), join(copy, name))
  const next = new SqliteEngine(join(copy, 'headgate.sqlite'), systemClock, silent)
  await next.open()
  const reader = new Database(join(copy, 'headgate.sqlite'), { readonly: true })
  expect(reader.query('select id from holds').all()).toEqual([{ id: 'gen-2' }])
  reader.close()
  await next.close()
})

test('R7 R24 a hold that could not be written is written once there is room, and counts once', async () => {
  await ledger.admit(admission('gen-1', '2031-01-01'))
  const full = spyOn(fs, 'writeSync').mockImplementation(() => {
    throw new Error('ENOSPC')
  })
  const admitting = ledger.admit(admission('gen-2', '2031-01-01'))
  expect(admitting).toBeInstanceOf(Promise)
  await Bun.sleep(50)
  full.mockRestore()
  expect(await admitting).toBeNull()
  await ledger.flush()
  expect(lock.query('select id from holds order by id').all()).toEqual([{ id: 'gen-1' }, { id: 'gen-2' }])
  expect(lock.query("select held_total_nanos as held from meters where subject = 'key:1'").get()).toEqual({
    held: 2,
  })
})
