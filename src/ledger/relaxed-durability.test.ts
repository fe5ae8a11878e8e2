import { Database } from 'bun:sqlite'
import { afterAll, afterEach, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import * as fs from 'node:fs'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pino } from 'pino'
import { findLedgerProblems, readLedgerSnapshot } from '../../test/faults/reconciliation.ts'
import { createDatabase, createMigratedFile } from '../../test/support/databases.ts'
import { blankGeneration, toGenerationRecord } from '../../test/support/generations.ts'
import { databaseKinds } from '../../test/support/harness.ts'
import { waitUntil } from '../../test/support/wait-until.ts'
import { closeDb, openDb } from '../platform/db/db.ts'
import { emptyGeneration } from '../platform/db/generation-table.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import { systemClock } from '../platform/time/clock.ts'
import { emptyDraft } from './draft.ts'
import { DurableSizes } from './durable-sizes.ts'
import type { AdmitOperation, Settlement } from './engine.ts'
import { listSegmentFiles } from './journal-segment.ts'
import { Ledger } from './ledger.ts'
import { meterSubjects } from './meter-subjects.ts'
import { createRelease } from './settlement.ts'
import { SqliteEngine } from './sqlite-engine.ts'

const silent = pino({ level: 'silent' })
const folder = mkdtempSync(join(tmpdir(), 'headgate-relaxed-'))
afterAll(() => rmSync(folder, { recursive: true }))

const subjects = [meterSubjects.organization('one'), meterSubjects.workspace('one'), meterSubjects.key(1)]
const scope = { organization_id: 'one', workspace_id: 'one', key_id: 1, created_at: '2031-01-01' }

function hold(id: string): AdmitOperation {
  return {
    op: 'admit',
    organizationId: 'one',
    owner: 'node',
    expiresAt: '2999-01-01T00:00:00.000Z',
    draft: { ...emptyDraft, generation: { ...emptyGeneration, ...blankGeneration, ...scope, id } },
    request: { id, subjects, day: '2031-01-01', limits: [], free: null, amount: 100n, byok: 0n },
  }
}

function charge({ request: { id }, draft: { generation } }: AdmitOperation, amount: bigint): Settlement {
  const { outcome } = toGenerationRecord({ ...blankGeneration, cost_nanos: amount, hold_nanos: 100n })
  const spent = { amount, byok: 0n }
  return { ...createRelease(id, 'one'), spent, generation: { draft: generation, outcome } }
}

describe('relaxed durability on SQLite', () => {
  let path: string
  let engine: SqliteEngine
  let ledger: Ledger
  let isRelaxed = true
  /** Syncs that a disk which does not respond has yet to carry out; null while it responds. */
  let pendingSyncs: (() => void)[] | null = null
  const { fdatasync } = fs
  const syncing = spyOn(fs, 'fdatasync').mockImplementation(((file: number, done: fs.NoParamCallback) => {
    if (pendingSyncs) pendingSyncs.push(() => done(null))
    else fdatasync(file, done)
  }) as unknown as typeof fdatasync)
  afterAll(() => syncing.mockRestore())

  beforeEach(async () => {
    isRelaxed = true
    path = join(mkdtempSync(join(folder, 'data-')), 'headgate.sqlite')
    await createMigratedFile(path)
    const db = openDb(path)
    const created = { is_operator: 0, created_at: '2027-01-01T00:00:00.000Z' } as const
    await db
      .insertInto('organizations')
      .values({ id: 'one', name: 'One', ...created })
      .execute()
    await closeDb(db)
    engine = new SqliteEngine(path, systemClock, silent, () => isRelaxed)
    ledger = new Ledger(engine, systemClock, silent)
    await ledger.open()
  })
  afterEach(async () => {
    resumeDisk()
    await engine.close()
  })

  let lock: Database | null = null

  /** The journal can be written, but neither synced nor flushed. */
  function stopDisk(): void {
    pendingSyncs = []
    lock = new Database(path)
    lock.run('begin immediate')
  }

  function resumeDisk(): void {
    const pending = pendingSyncs ?? []
    pendingSyncs = null
    for (const sync of pending) sync()
    lock?.run('rollback')
    lock?.close()
    lock = null
  }

  /** Copies the files: all data after the end of the process, only data on disk after a power cut. */
  function copyFiles(isPowerCut: boolean, leave: (file: string, size: number) => void): string {
    const copy = join(mkdtempSync(join(folder, 'copy-')), 'headgate.sqlite')
    const reader = new Database(path, { readonly: true })
    reader.run('vacuum into ?', [copy])
    reader.close()
    const sizes = new DurableSizes(path)
    copyFileSync(sizes.path, join(copy, '..', basename(sizes.path)))
    for (const file of listSegmentFiles(path)) {
      const to = join(copy, '..', basename(file))
      copyFileSync(file, to)
      const record = sizes.read()?.find(({ fileNumber }) => file.endsWith(`-${fileNumber}`))
      if (isPowerCut) leave(to, record?.size ?? 0)
    }
    return copy
  }

  async function recover(left: string) {
    const next = new SqliteEngine(left, systemClock, silent)
    await next.open()
    await next.close()
    const snapshot = await readLedgerSnapshot(left)
    expect(findLedgerProblems(snapshot)).toEqual([])
    return {
      records: snapshot.generations.map(({ id, cost_nanos }) => [id, cost_nanos]),
      holds: snapshot.holds.map(({ id }) => id),
    }
  }

  test('a charge is acknowledged before it is synced, and with `strict` after', async () => {
    const [first, second] = [hold('gen-1'), hold('gen-2')]
    await ledger.admit(first)
    await ledger.admit(second)
    stopDisk()
    await ledger.settle(charge(first, 7n))
    isRelaxed = false
    let isAcknowledged = false
    const settling = ledger.settle(charge(second, 9n)).then(() => {
      isAcknowledged = true
    })
    await waitUntil(() => (pendingSyncs ?? []).length > 0)
    await new Promise(setImmediate)
    expect(isAcknowledged).toBe(false)
    resumeDisk()
    await settling
  })

  test('acknowledged charges are synced although nobody waits for it', async () => {
    const admit = hold('gen-1')
    await ledger.admit(admit)
    syncing.mockClear()
    await ledger.settle(charge(admit, 7n))
    await waitUntil(() => syncing.mock.calls.length > 0)
  })

  test.each([
    ['cut off', (file: string, size: number) => truncateSync(file, size)],
    ['left as zeros', (file: string, size: number) => writeFileSync(file, readFileSync(file).fill(0, size))],
  ])(
    'R7 a power cut loses at most what was not synced yet, which is %s; a crash loses nothing',
    async (_, leave) => {
      const [synced, unsynced] = [hold('gen-1'), hold('gen-2')]
      await ledger.admit(synced)
      await ledger.admit(unsynced)
      await ledger.settle(charge(synced, 7n))
      await ledger.flush()
      const late = hold('gen-3')
      await ledger.admit(late)
      isRelaxed = false
      await ledger.settle(charge(late, 5n))
      isRelaxed = true
      stopDisk()
      await ledger.settle(charge(unsynced, 9n))
      const [cut, whole] = [copyFiles(true, leave), copyFiles(false, leave)]
      resumeDisk()
      const records = [
        ['gen-1', 7n],
        ['gen-3', 5n],
      ]
      expect(await recover(cut)).toEqual({ records, holds: ['gen-2'] })
      const all = await recover(whole)
      expect(all.records).toHaveLength(3)
      expect(all.holds).toEqual([])
    },
  )
})

test.if(databaseKinds.includes('postgres'))(
  'relaxed durability on PostgreSQL: only its transactions do not wait for the disk',
  async () => {
    const database = await createDatabase()
    let isRelaxed = false
    const connection = new PostgresBatchConnection(database.url, () => isRelaxed)
    const read = () =>
      connection.transact((batch) => batch.rows([{ sql: 'show synchronous_commit', values: [] }]))
    const [before] = await read()
    isRelaxed = true
    expect(await read()).toEqual([{ synchronous_commit: 'off' }])
    isRelaxed = false
    expect(await read()).toEqual([before ?? {}])
    await connection.close()
    await database.drop()
  },
)
