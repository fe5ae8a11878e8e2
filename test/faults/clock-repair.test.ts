import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Kysely } from 'kysely'
import { rollUp } from '../../src/analytics/rollups/roll-up.ts'
import { checkLedger } from '../../src/ledger/check.ts'
import { loadMetersForDay } from '../../src/ledger/meter-days.ts'
import { closeDb, type Db, migrate, openDb } from '../../src/platform/db/db.ts'
import { migrateOffline } from '../../src/platform/db/migrate/offline.ts'
import { createDatabase, type TestDatabase } from '../support/databases.ts'
import { readBlankGeneration } from '../support/generations.ts'
import { type DatabaseKind, databaseKinds } from '../support/harness.ts'

const folder = mkdtempSync(join(tmpdir(), 'headgate-clock-repair-'))
const databases: TestDatabase[] = []
afterAll(async () => {
  for (const { drop } of databases) await drop()
  rmSync(folder, { recursive: true })
})

async function createEmptyDatabase(kind: DatabaseKind): Promise<string> {
  if (kind === 'sqlite') return join(folder, 'headgate.sqlite')
  const database = await createDatabase()
  databases.push(database)
  return database.url
}

const at = '2031-03-12T12:00:00.000Z'
const day = '2031-03-12'
const frozenDay = '2031-11-03'

/** Generations of one nano-dollar each: `rolled` of them in the roll-ups, the others not; the clock was ahead once. */
async function leaveOldRecords(db: Db, { rolled, unrolled }: { rolled: number; unrolled: number }) {
  const ids = Array.from({ length: rolled + unrolled }, (_, index) => `gen-${index}`)
  const created = { is_operator: 0, created_at: at } as const
  await db
    .insertInto('organizations')
    .values({ id: 'org', name: 'org', ...created })
    .execute()
  const owner = { organization_id: 'org', workspace_id: 'w', key_id: 1, user_id: 'u' }
  const cost = { cost_nanos: 1n, hold_nanos: 5n, posting_id: 'post' }
  const row = { ...(await readBlankGeneration(db)), ...owner, ...cost, created_at: at, ended_at: at }
  await db
    .insertInto('generations')
    .values(ids.map((id) => ({ ...row, id })))
    .execute()
  const sums = { requests: rolled, usage_nanos: BigInt(rolled), byok_usage_nanos: 0n }
  await db
    .insertInto('key_days')
    .values({ ...owner, day, ...sums })
    .execute()
  await db.updateTable('instance').set({ value: frozenDay }).where('name', '=', 'rolled_until').execute()
  const total = BigInt(ids.length)
  const entry = { transaction_id: 'post', organization_id: 'org', kind: 'charge', created_at: at } as const
  await db
    .insertInto('ledger_entries')
    .values([
      { ...entry, account: 'credits', amount_nanos: -total },
      { ...entry, account: 'revenue', amount_nanos: total },
    ])
    .execute()
  await leaveFrozenMeters(db, total)
}

/** All spending and one hold, counted in a day that is months away. */
async function leaveFrozenMeters(db: Db, total: bigint) {
  const subjects = ['organization:org', 'workspace:w', 'key:1', 'member:w:u']
  const windows = { day: frozenDay, week: frozenDay, month: '2031-11-01' }
  const spent = { total_nanos: total, day_nanos: total, week_nanos: total, month_nanos: total }
  const held = { held_total_nanos: 5n, held_day_nanos: 5n, held_week_nanos: 5n, held_month_nanos: 5n }
  const none = { byok_total_nanos: 0n, byok_day_nanos: 0n, byok_week_nanos: 0n, byok_month_nanos: 0n }
  const noneHeld = {
    held_byok_total_nanos: 0n,
    held_byok_day_nanos: 0n,
    held_byok_week_nanos: 0n,
    held_byok_month_nanos: 0n,
  }
  const free = { minute: '', free_day: 3, free_minute: 0 }
  for (const subject of subjects) {
    await db
      .insertInto('meters')
      .values({ subject, ...windows, ...spent, ...held, ...none, ...noneHeld, ...free })
      .execute()
  }
  await db
    .insertInto('holds')
    .values({
      id: 'gen-open',
      owner: 'node',
      subjects: subjects.join(' '),
      amount_nanos: 5n,
      byok_nanos: 0n,
      day: frozenDay,
      expires_at: '2999-01-01',
      draft: JSON.stringify([['gen-open', 'org', 'w', 1, 'u', at]]),
      checkpoint: null,
    })
    .execute()
}

for (const kind of databaseKinds) {
  test(`R13 R23 I6 an upgrade repairs meters and roll-ups written while the clock was ahead (${kind})`, async () => {
    const db = openDb(await createEmptyDatabase(kind))
    const target = { upTo: '008-own-key-origin' }
    await db.transaction().execute((tx) => migrateOffline(tx as Db as Kysely<unknown>, target))
    await leaveOldRecords(db, { rolled: 2, unrolled: 3 })
    await migrate(db)
    const problems = async () => (await checkLedger(db)).findings.flatMap(({ violations }) => violations)
    expect(await problems()).toEqual([])
    const [key] = await loadMetersForDay(db, ['key:1'], day)
    expect(key?.spent).toEqual({ total: 5n, day: 5n, week: 5n, month: 5n })
    expect(key?.held).toEqual({ total: 5n, day: 5n, week: 5n, month: 5n })
    const [frozen] = await loadMetersForDay(db, ['key:1'], frozenDay)
    expect([frozen?.spent.day, frozen?.held.day, frozen?.freeDay]).toEqual([0n, 0n, 3])
    expect(await rollUp({ db }, { minRows: 1 })).toBe(5)
    expect(await problems()).toEqual([])
    await closeDb(db)
  })
}
