// Preloaded into the gateway's process and its threads: ends the process at a named point.
import { Database } from 'bun:sqlite'
import { readFileSync, truncateSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { Batch } from '../../src/db/batch.ts'
import type { LedgerEngine, LedgerOperation } from '../../src/ledger/engine.ts'
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
  watchThreads()
} else watchSqlite()

/** The heartbeat timeout of a node, for tests that cannot wait two minutes. */
async function shortenLivenessTimeout(): Promise<void> {
  const silentMs = Number(process.env.HEADGATE_SILENT_MS)
  if (!silentMs) return
  const { liveness } = await import('../../src/ledger/recovery.ts')
  Object.assign(liveness, { silentMs, beatMs: silentMs / 10 })
}

async function watchEngines(): Promise<void> {
  const { PostgresEngine } = await import('../../src/ledger/postgres-engine.ts')
  const { SqliteEngine } = await import('../../src/ledger/sqlite-engine.ts')
  for (const { prototype } of [PostgresEngine, SqliteEngine]) {
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
  const { StreamSession } = await import('../../src/pipeline/reply/stream-session.ts')
  const { begin, end } = StreamSession.prototype
  StreamSession.prototype.begin = function (attempt) {
    begin.call(this, attempt)
    killIfArmed('after the first token')
  }
  StreamSession.prototype.end = async function () {
    killIfArmed('after the end of the reply')
    const text = await end.call(this)
    setImmediate(() => killIfArmed('while the client receives the end'))
    return text
  }
}

async function watchPostgres(): Promise<void> {
  const { PostgresBatchConnection } = await import('../../src/db/postgres-batch.ts')
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
