// The first module of the gateway's process and of its threads: ends the process at a named point.
import { Database } from 'bun:sqlite'
import { readFileSync, truncateSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { LedgerEngine, LedgerOperation } from '../../src/ledger/engine.ts'
import type { Batch } from '../../src/platform/db/batch.ts'
import type { KillPoint } from './kill-point-names.ts'

const file = process.env.HEADGATE_KILL_FILE ?? '/dev/null'
const passes = new Map<string, number>()

/** The file has the name of a point and how often it is passed before the process ends. */
function isArmed(point: KillPoint): boolean {
  const armed = readFileSync(file, 'utf8')
  const [name, count] = armed.split('#')
  if (name !== point) return false
  const pass = (passes.get(armed) ?? 0) + 1
  passes.set(armed, pass)
  return pass >= Number(count)
}

function killIfArmed(point: KillPoint): void {
  if (isArmed(point)) process.kill(process.pid, 'SIGKILL')
}

/** Follows a transaction of the ledger by its statements. */
class Transaction {
  #holds = false
  #settles = false

  recordStatement(sql: string): void {
    if (sql.startsWith('insert into holds')) this.#holds = true
    if (sql.startsWith('delete from holds')) this.#settles = true
    if (sql.startsWith('insert into generations')) killIfArmed('halfway through a settlement')
  }

  beforeCommit(): void {
    if (this.#holds) killIfArmed('before a hold is committed')
    if (this.#settles) killIfArmed('before a settlement is committed')
  }
}

if (isMainThread) {
  await shortenLivenessTimeout()
  await watchEngines()
  await watchJournal()
  await watchStreams()
  await watchPostgres()
  await watchVideoJobs()
  await prepareDeliveries()
  // A compiled program has it in its threads.
  if (!process.env.TEST_FAULT_PROGRAM) watchThreads()
} else watchSqlite()

/** The heartbeat timeout of a node, for tests that cannot wait that long. */
async function shortenLivenessTimeout(): Promise<void> {
  const silentMs = Number(process.env.HEADGATE_SILENT_MS)
  if (!silentMs) return
  const { liveness } = await import('../../src/ledger/recovery.ts')
  const { leaseTerms } = await import('../../src/ledger/lease-rounds.ts')
  Object.assign(liveness, { silentMs, beatMs: silentMs / 10 })
  Object.assign(leaseTerms, { silentMs, termMs: silentMs / 2, renewMs: silentMs / 8 })
}

async function watchEngines(): Promise<void> {
  const { LeasedEngine } = await import('../../src/ledger/leased-engine.ts')
  const { SqliteEngine } = await import('../../src/ledger/sqlite-engine.ts')
  for (const { prototype } of [LeasedEngine, SqliteEngine]) {
    const run: LedgerEngine['run'] = prototype.run
    prototype.run = async function (this: LedgerEngine, ops: readonly LedgerOperation[], now = '') {
      const kinds = new Set(ops.map(({ op }) => op))
      if (kinds.has('admit')) killIfArmed('before a hold is written')
      if (kinds.has('settle')) killIfArmed('before a settlement is written')
      const ran = await run.call(this, ops, now)
      if (kinds.has('admit')) killIfArmed('after a hold is committed')
      if (kinds.has('note')) killIfArmed('after a checkpoint')
      if (kinds.has('settle')) killIfArmed('after a settlement is committed')
      return ran
    }
  }
  for (const prototype of [LeasedEngine.prototype, SqliteEngine.prototype]) {
    const admitNow: LedgerEngine['admitNow'] = prototype.admitNow
    prototype.admitNow = function (this: LedgerEngine, op) {
      killIfArmed('before a hold is written')
      const decided = admitNow.call(this, op)
      if (decided !== undefined) killIfArmed('after a hold is committed')
      return decided
    }
  }
}

/** Kill points in the journal. */
async function watchJournal(): Promise<void> {
  const { SegmentFile } = await import('../../src/ledger/journal-segment.ts')
  const { FlushThread } = await import('../../src/ledger/flush-thread.ts')
  const { append, sync, waitUntilIdle } = SegmentFile.prototype
  SegmentFile.prototype.append = function (lines) {
    const before = this.size
    append.call(this, lines)
    if (lines.length === 0 || !isArmed('halfway through a line of the journal')) return
    truncateSync(this.path, Math.floor((before + this.size) / 2))
    process.kill(process.pid, 'SIGKILL')
  }
  SegmentFile.prototype.sync = async function () {
    killIfArmed('before a settlement is on disk')
    await sync.call(this)
    killIfArmed('after a settlement is on disk')
  }
  SegmentFile.prototype.waitUntilIdle = function () {
    killIfArmed('before a file of the journal is used again')
    return waitUntilIdle.call(this)
  }
  const { flush } = FlushThread.prototype
  FlushThread.prototype.flush = async function (path, segment) {
    killIfArmed('before the journal is flushed')
    const rejected = await flush.call(this, path, segment)
    killIfArmed('after a flush is committed')
    return rejected
  }
}

async function watchStreams(): Promise<void> {
  const { StreamSession } = await import('../../src/inference/text/stream-session.ts')
  const { begin, end } = StreamSession.prototype
  StreamSession.prototype.begin = function (opened, heartbeat) {
    const texts = begin.call(this, opened, heartbeat)
    killIfArmed('after the first token')
    return texts
  }
  StreamSession.prototype.end = async function () {
    killIfArmed('after the end of the reply')
    const text = await end.call(this)
    setImmediate(() => killIfArmed('while the client receives the end'))
    return text
  }
}

async function watchPostgres(): Promise<void> {
  const { PostgresBatchConnection } = await import('../../src/platform/db/postgres-batch.ts')
  const transact = PostgresBatchConnection.prototype.transact
  PostgresBatchConnection.prototype.transact = function <T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const watch = async (batch: Batch) => {
      const transaction = new Transaction()
      const result = await work(runOneByOne(batch, transaction))
      transaction.beforeCommit()
      return result
    }
    return transact.call(this, watch as never) as Promise<T>
  }
}

function runOneByOne(batch: Batch, transaction: Transaction): Batch {
  return {
    rows: (statements) => batch.rows(statements),
    run: async (statements) => {
      for (const statement of statements) {
        await batch.run([statement])
        transaction.recordStatement(statement.sql)
      }
    },
  }
}

/** Watches the statements on jobs, and the requests to the provider. */
async function watchVideoJobs(): Promise<void> {
  const { leaseTimes } = await import('../../src/inference/video/lease.ts')
  const leaseMs = Number(process.env.HEADGATE_LEASE_MS)
  if (leaseMs) Object.assign(leaseTimes, { leaseMs, renewMs: leaseMs / 4 })
  const { DefaultQueryExecutor } = await import('kysely')
  const { executeQuery } = DefaultQueryExecutor.prototype
  DefaultQueryExecutor.prototype.executeQuery = async function (query) {
    const result = await executeQuery.call(this, query)
    if (!/^(?:insert into|update) "video_jobs"/.test(query.sql)) return result as never
    if (query.sql.startsWith('insert')) {
      killIfArmed('after a video job is stored')
      return result as never
    }
    if (query.parameters.includes('sending')) killIfArmed('after a video job is marked as being sent')
    if (query.parameters.includes('sent')) killIfArmed('after a video job is marked as sent')
    if (query.sql.includes('"polls"')) killIfArmed('after a video job is polled')
    if (query.sql.includes('"webhook_attempts"')) killIfArmed('after a webhook is delivered')
    return result as never
  }
  const plainFetch = globalThis.fetch
  globalThis.fetch = Object.assign(async (...args: Parameters<typeof fetch>) => {
    const response = await plainFetch(...args)
    if (args[1]?.method === 'POST' && String(args[0]).endsWith('/videos'))
      killIfArmed('after a provider accepted a video job')
    if (String(args[0]).endsWith('/content')) killIfArmed('after a video is downloaded')
    return response
  }, plainFetch)
}

/** Webhooks receive plain events, and the lease of a dead node ends soon. */
async function prepareDeliveries(): Promise<void> {
  const { useListExporter } = await import('../delivery/support.ts')
  useListExporter()
  const { deliveryLease } = await import('../../src/delivery/lease.ts')
  const leaseMs = Number(process.env.HEADGATE_LEASE_MS)
  if (leaseMs) Object.assign(deliveryLease, { leaseMs, renewMs: leaseMs / 4 })
}

/** Threads load this too. */
function watchThreads(): void {
  const PlainWorker = globalThis.Worker
  globalThis.Worker = class extends PlainWorker {
    constructor(url: string | URL, options?: WorkerOptions) {
      super(url, { ...options, preload: [import.meta.path] })
    }
  }
}

function watchSqlite(): void {
  let isFlush = false
  const prepare = Database.prototype.prepare
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: []) {
    const statement = prepare.call(this, sql, ...rest)
    const run = statement.run.bind(statement)
    statement.run = (...values: never[]) => {
      if (sql === 'begin immediate') isFlush = false
      if (sql === 'commit' && isFlush) killIfArmed('before a flush is committed')
      const changes = run(...values)
      if (sql.startsWith('insert into generations')) {
        isFlush = true
        killIfArmed('halfway through a flush')
      }
      return changes
    }
    return statement
  } as typeof prepare
}
