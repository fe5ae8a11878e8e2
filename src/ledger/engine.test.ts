import { Database } from 'bun:sqlite'
import { afterAll, expect, test } from 'bun:test'
import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pino } from 'pino'
import { closeScenarios, createScenario } from '../../test/faults/gateways.ts'
import { createRandom, isLong, printTotals, testTimeoutMs } from '../../test/faults/options.ts'
import { findLedgerProblems, readLedgerSnapshot } from '../../test/faults/reconciliation.ts'
import { toGenerationRecord } from '../../test/support/generations.ts'
import { databaseKinds } from '../../test/support/harness.ts'
import { requestHolds } from '../../test/support/holds.ts'
import { createLeasedEngine } from '../../test/support/leased-engine.ts'
import type { Batch, BatchConnection } from '../platform/db/batch.ts'
import { closeDb, type Db, isPostgresUrl, migrate, openDb } from '../platform/db/db.ts'
import { emptyGeneration } from '../platform/db/generation-table.ts'
import { PostgresBatchConnection } from '../platform/db/postgres-batch.ts'
import { systemClock } from '../platform/time/clock.ts'
import { utcDay } from '../platform/time/time.ts'
import { emptyDraft } from './draft.ts'
import type {
  AdmitOperation,
  ExchangeOperation,
  LedgerEngine,
  LedgerOperation,
  OperationResult,
  Settlement,
} from './engine.ts'
import { listSegmentFiles } from './journal-segment.ts'
import { LeasedEngine } from './leased-engine.ts'
import { meterSubjects } from './meter-subjects.ts'
import { SqliteEngine } from './sqlite-engine.ts'

const batches = isLong ? 2000 : 60
const maxBatchSize = 40
/** Daily limits of the keys: with the last, leases cover most holds. */
const budgets = new Map([
  [1, 1000n],
  [2, 20_000n],
  [3, 1_000_000n],
])
const batchesPerDay = 20
const firstDay = '2027-12-20'
const dayMs = 86_400_000
const now = '2028-01-01T00:00:00.000Z'

afterAll(closeScenarios)

const random = createRandom()
const pick = <T>(list: readonly T[]) => list[Math.floor(random() * list.length)] as T

const organizations = ['one', 'two']

const subjectsByKey = new Map(
  [1, 2, 3].map((key) => {
    const organizationId = key < 3 ? 'one' : 'two'
    const { organization, workspace } = meterSubjects
    return [key, [organization(organizationId), workspace(organizationId), meterSubjects.key(key)]]
  }),
)

/** Operations as requests make them, and their results. */
class Requests {
  readonly open: AdmitOperation[] = []
  readonly settled: Settlement[] = []
  #count = 0
  #batches = 0
  #day = firstDay
  rejected = 0

  admit(): AdmitOperation {
    const organizationId = pick(organizations)
    const keyId = organizationId === 'one' ? pick([1, 2]) : 3
    const key = meterSubjects.key(keyId)
    const id = `gen-${String(++this.#count).padStart(8, '0')}`
    const limit = {
      kind: 'key',
      subject: key,
      window: 'day',
      includeByok: false,
      amount: budgets.get(keyId) ?? 0n,
    } as const
    return {
      op: 'admit',
      organizationId,
      owner: 'node',
      expiresAt: '2999-01-01T00:00:00.000Z',
      draft: this.#draft(id, organizationId, keyId),
      request: {
        id,
        subjects: subjectsByKey.get(keyId) ?? [],
        day: this.#day,
        limits: [limit],
        free: null,
        amount: BigInt(Math.floor(random() * 60)),
        byok: 0n,
      },
    }
  }

  #draft(id: string, organizationId: string, keyId: number): AdmitOperation['draft'] {
    const owner = { organization_id: organizationId, workspace_id: organizationId, key_id: keyId }
    const created_at = this.#day
    return { ...emptyDraft, generation: { ...blank, ...owner, id, created_at } }
  }

  /** Two holds instead of one, larger or smaller. */
  exchange({ organizationId, draft, request: { id, subjects, limits } }: AdmitOperation): ExchangeOperation {
    const { key_id } = draft.generation
    const admits = [this.admit(), this.admit()].map(({ request, ...op }) => ({
      ...op,
      organizationId,
      draft: this.#draft(request.id, organizationId, key_id),
      request: { ...request, subjects, limits },
    }))
    return { op: 'exchange', releases: [id], admits }
  }

  settle({ request, organizationId, draft }: AdmitOperation): Settlement {
    const amount = (request.amount * BigInt(Math.floor(random() * 101))) / 100n
    const { outcome } = toGenerationRecord({
      ...blank,
      cost_nanos: amount,
      hold_nanos: request.amount,
    })
    return {
      op: 'settle',
      id: request.id,
      organizationId,
      isByok: random() < 0.3,
      spent: { amount, byok: 0n },
      // A draft that was changed since its hold was placed.
      generation: { draft: random() < 0.2 ? { ...draft.generation } : draft.generation, outcome },
      meteredIn: { subjects: request.subjects, day: request.day },
      extraStatements: [],
    }
  }

  /** New requests, ends of old ones, what was settled before, and the same twice. */
  batch(): LedgerOperation[] {
    const ops: LedgerOperation[] = []
    const step = random() < 0.2 ? pick([-366, -31, -7, -1, 1, 31]) : 0
    const days = Math.floor(this.#batches++ / batchesPerDay) + step
    this.#day = utcDay(Date.parse(firstDay) + days * dayMs)
    for (let left = 1 + Math.floor(random() * maxBatchSize); left > 0; left--) {
      const kind = random()
      const [open, settled] = [pick(this.open), pick(this.settled)]
      if (kind < 0.4) ops.push(this.admit())
      else if (kind < 0.5 && open) ops.push(this.exchange(open))
      else if (kind < 0.8 && open) ops.push(this.settle(open))
      else if (kind < 0.9 && settled) ops.push({ ...settled, spent: { amount: 9n, byok: 9n } })
      else if (open) ops.push({ op: 'note', id: open.request.id, checkpoint: '{}' })
    }
    return ops
  }

  #place(op: AdmitOperation | ExchangeOperation): void {
    const releases = op.op === 'exchange' ? op.releases : []
    for (const id of releases) {
      const at = this.open.findIndex(({ request }) => request.id === id)
      if (at >= 0) this.open.splice(at, 1)
    }
    this.open.push(...(op.op === 'exchange' ? op.admits : [op]))
  }

  /** Records the results of a batch. */
  recordResults(ops: LedgerOperation[], results: unknown[]): void {
    for (const [index, op] of ops.entries()) {
      if (op.op === 'admit' || op.op === 'exchange') {
        if (results[index] === null) this.#place(op)
        else this.rejected++
      } else if (op.op === 'settle') {
        const at = this.open.findIndex(({ request }) => request.id === op.id)
        if (at >= 0) this.settled.push(op) && this.open.splice(at, 1)
      }
    }
  }
}

const blank = {
  ...emptyGeneration,
  ...{ status: 'completed', region: 'global', dialect: 'chat', upstream_dialect: 'chat' },
} as const

const log = pino({ level: 'silent' })

/** An engine, and how its process may end. */
interface RunningEngine {
  engine: LedgerEngine
  /** Ends it at once; returns the path by which the next one continues. */
  crash: () => Promise<string>
}

let crashes = 0

async function openEngine(url: string, folder: string): Promise<RunningEngine & { folder: string }> {
  const running = isPostgresUrl(url) ? openLeasedEngine(url, folder) : openSqliteEngine(url)
  const { engine } = running
  await engine.open(async (settlements) => void (await engine.run(settlements, now)))
  return { ...running, folder }
}

function openSqliteEngine(path: string): RunningEngine {
  const engine = new SqliteEngine(path, systemClock, log)
  const crash = async () => {
    // Named by a counter: a name made from the last copy's would outgrow what a file system takes.
    const copy = `${path.replace(/-\d+$/, '')}-${++crashes}`
    copyAsCrashed(path, copy)
    await engine.close()
    return copy
  }
  return { engine, crash }
}

function openLeasedEngine(url: string, folder: string): RunningEngine {
  const connections = [new CuttableConnection(url), new CuttableConnection(url)] as const
  const [connection, background] = connections
  const engine = createLeasedEngine(url, { connection, background, folder })
  const crash = async () => {
    for (const connection of connections) await connection.cut()
    const copy = mkdtempSync(join(tmpdir(), 'headgate-crashed-'))
    for (const file of listSegmentFiles(join(folder, 'node'))) copyFileSync(file, join(copy, basename(file)))
    return copy
  }
  return { engine, crash }
}

/** A connection that a crash ends. */
class CuttableConnection implements BatchConnection {
  readonly #inner: PostgresBatchConnection
  #current: Promise<unknown> = Promise.resolve()
  #isCut = false

  constructor(url: string) {
    this.#inner = new PostgresBatchConnection(url)
  }
  transact<T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const result = this.#isCut
      ? Promise.reject(new Error('the connection is cut'))
      : this.#inner.transact(work)
    this.#current = result.catch(() => undefined)
    return result
  }
  async cut(): Promise<void> {
    this.#isCut = true
    await this.#current
    await this.#inner.close()
  }
  close(): Promise<void> {
    return this.#inner.close()
  }
}

/** Runs operations again that wait for leases to be returned. */
async function runAll(engine: LedgerEngine, ops: readonly LedgerOperation[]): Promise<OperationResult[]> {
  const { results, durable } = await engine.run(ops, now)
  await durable
  for (let tries = 0; results.includes('recalling'); tries++) {
    expect(tries).toBeLessThan(100)
    await Bun.sleep(20)
    const waiting = ops.filter((_, index) => results[index] === 'recalling')
    const again = (await engine.run(waiting, now)).results
    for (const [index, result] of results.entries())
      if (result === 'recalling') results[index] = again.shift() ?? null
  }
  return results
}

/** The holds of interrupted requests have no amount any more. */
async function adoptInterrupted(db: Db, { open }: Requests): Promise<void> {
  const rows = await requestHolds(db).select(['id', 'amount_nanos']).execute()
  const amounts = new Map(rows.map(({ id, amount_nanos }) => [id, amount_nanos]))
  for (const { request } of open) request.amount = amounts.get(request.id) ?? request.amount
}

/** Copies what a crash at this moment leaves: the journal as it is now, and the database at most as far. */
function copyAsCrashed(path: string, to: string): void {
  for (const left of listSegmentFiles(path)) copyFileSync(left, left.replace(path, to))
  const database = new Database(path)
  database.run('vacuum into ?', [to])
  database.close()
}

/** Marks a batch as repeated by a caller that did not receive the results. */
function asRetry(ops: LedgerOperation[]): LedgerOperation[] {
  return ops.map((op) => (op.op === 'admit' || op.op === 'exchange' ? { ...op, isRetry: true } : op))
}

for (const kind of databaseKinds) {
  test(
    `R2 R13 I1 I3 I4 I6 batches, replays, restarts and a clock that steps leave a ledger that balances (${kind})`,
    async () => {
      const scene = await createScenario(kind)
      let { databaseUrl } = scene
      const db = openDb(databaseUrl)
      await migrate(db)
      const created = { is_operator: 0, created_at: '2027-01-01T00:00:00.000Z' } as const
      await db
        .insertInto('organizations')
        .values(organizations.map((id) => ({ id, name: id, ...created })))
        .execute()
      const requests = new Requests()
      let running = await openEngine(databaseUrl, mkdtempSync(join(tmpdir(), 'headgate-engine-')))
      let operations = 0
      let replays = 0
      let leases = 0
      for (let count = 0; count < batches; count++) {
        const ops = requests.batch()
        if (ops.length === 0) continue
        const results = await runAll(running.engine, ops)
        requests.recordResults(ops, results)
        if (random() < 0.2) {
          if (random() < 0.5) {
            const left = await running.crash()
            if (kind === 'sqlite') databaseUrl = left
            running = await openEngine(databaseUrl, kind === 'sqlite' ? running.folder : left)
            if (kind === 'postgres') await adoptInterrupted(db, requests)
          } else {
            await running.engine.close()
            running = await openEngine(databaseUrl, running.folder)
          }
        }
        if (random() < 0.3) {
          const admitted = ops.filter((_, index) => results[index] === null)
          await runAll(running.engine, asRetry(admitted))
          replays++
        }
        operations += ops.length
        if (running.engine instanceof LeasedEngine) leases = Math.max(leases, running.engine.leases.count)
      }
      const { engine } = running
      await engine.close()
      await closeDb(db)
      const ledger = await readLedgerSnapshot(databaseUrl)
      expect(findLedgerProblems(ledger)).toEqual([])
      expect(ledger.findings.flatMap(({ violations }) => violations)).toEqual([])
      expect(ledger.holds.map(({ id }) => id).sort()).toEqual(
        requests.open.map(({ request }) => request.id).sort(),
      )
      expect(ledger.generations).toHaveLength(requests.settled.length)
      for (const meter of ledger.meters) {
        const held = requests.open.filter(({ request }) => request.subjects.includes(meter.subject))
        expect(meter.held_total_nanos).toBe(held.reduce((sum, { request }) => sum + request.amount, 0n))
        if (meter.subject.startsWith('key:')) {
          const budget = budgets.get(Number(meter.subject.slice('key:'.length))) ?? 0n
          expect(meter.day_nanos + meter.held_day_nanos <= budget).toBe(true)
        }
      }
      expect(requests.rejected).toBeGreaterThan(0)
      if (kind === 'postgres') expect(leases).toBeGreaterThan(0)
      const { rejected, settled } = requests
      printTotals(`the engine on ${kind}`, {
        operations,
        settled: settled.length,
        rejected,
        'batches replayed': replays,
        crashes,
        entries: ledger.entries.length,
      })
    },
    testTimeoutMs,
  )
}
