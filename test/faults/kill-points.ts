// Loaded before the gateway, in its process and in its threads: lets the process die at a named point.
import { Database } from 'bun:sqlite'
import { readFileSync, truncateSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { Batch } from '../../src/db/batch.ts'
import type { Engine, Op } from '../../src/ledger/engine.ts'
import type { KillPoint } from './points.ts'

const file = process.env.HEADGATE_KILL_FILE ?? '/dev/null'
const passes = new Map<string, number>()

/** The file holds the name of a point and which of the passes from now on is the last. */
function isLast(point: KillPoint): boolean {
  const armed = readFileSync(file, 'utf8')
  const [name, count] = armed.split('#')
  if (name !== point) return false
  const pass = (passes.get(armed) ?? 0) + 1
  passes.set(armed, pass)
  return pass >= Number(count)
}

function reached(point: KillPoint): void {
  if (isLast(point)) process.kill(process.pid, 'SIGKILL')
}

/** Follows a transaction of the ledger by its statements. */
class Transaction {
  #holds = false
  #settles = false

  wrote(sql: string): void {
    if (sql.startsWith('insert into holds')) this.#holds = true
    if (sql.startsWith('delete from holds')) this.#settles = true
    if (sql.startsWith('insert into generations')) reached('halfway through a settlement')
  }

  commits(): void {
    if (this.#holds) reached('before a hold is committed')
    if (this.#settles) reached('before a settlement is committed')
  }
}

if (isMainThread) {
  await shortenSilence()
  await watchEngines()
  await watchJournal()
  await watchStreams()
  await watchPostgres()
  watchThreads()
} else watchSqlite()

/** How long a node may be silent, where a test does not want to wait for two minutes. */
async function shortenSilence(): Promise<void> {
  const silentMs = Number(process.env.HEADGATE_SILENT_MS)
  if (!silentMs) return
  const { liveness } = await import('../../src/ledger/recovery.ts')
  Object.assign(liveness, { silentMs, beatMs: silentMs / 10 })
}

async function watchEngines(): Promise<void> {
  const { SharedEngine } = await import('../../src/ledger/shared-engine.ts')
  const { SoleEngine } = await import('../../src/ledger/sole-engine.ts')
  for (const { prototype } of [SharedEngine, SoleEngine]) {
    const run: Engine['run'] = prototype.run
    prototype.run = async function (this: Engine, ops: readonly Op[], now = '') {
      const kinds = new Set(ops.map(({ op }) => op))
      if (kinds.has('admit')) reached('before a hold is written')
      if (kinds.has('settle')) reached('before a settlement is written')
      const ran = await run.call(this, ops, now)
      if (kinds.has('admit')) reached('after a hold is committed')
      if (kinds.has('note')) reached('after a checkpoint')
      if (kinds.has('settle')) reached('after a settlement is committed')
      return ran
    }
  }
}

/** The steps of the journal, each on its own. */
async function watchJournal(): Promise<void> {
  const { SegmentFile } = await import('../../src/ledger/segment.ts')
  const { FoldThread } = await import('../../src/ledger/fold-thread.ts')
  const { append, sync, quiet } = SegmentFile.prototype
  SegmentFile.prototype.append = function (lines) {
    const before = this.size
    append.call(this, lines)
    if (lines.length === 0 || !isLast('halfway through a line of the journal')) return
    truncateSync(this.path, Math.floor((before + this.size) / 2))
    process.kill(process.pid, 'SIGKILL')
  }
  SegmentFile.prototype.sync = async function () {
    reached('before a settlement is on disk')
    await sync.call(this)
    reached('after a settlement is on disk')
  }
  SegmentFile.prototype.quiet = function () {
    reached('before a file of the journal is used again')
    return quiet.call(this)
  }
  const { fold } = FoldThread.prototype
  FoldThread.prototype.fold = async function (path, piece) {
    reached('before the journal is folded')
    const refused = await fold.call(this, path, piece)
    reached('after a fold is committed')
    return refused
  }
}

async function watchStreams(): Promise<void> {
  const { StreamRun } = await import('../../src/pipeline/stream.ts')
  const { began, ended } = StreamRun.prototype
  StreamRun.prototype.began = function (taken) {
    began.call(this, taken)
    reached('after the first token')
  }
  StreamRun.prototype.ended = async function () {
    reached('after the end of the reply')
    const text = await ended.call(this)
    setImmediate(() => reached('while a client is told the end'))
    return text
  }
}

async function watchPostgres(): Promise<void> {
  const { PostgresBatches } = await import('../../src/db/postgres-batches.ts')
  const transact = PostgresBatches.prototype.transact
  PostgresBatches.prototype.transact = function <T>(work: (batch: Batch) => Promise<T>): Promise<T> {
    const watch = async (batch: Batch) => {
      const transaction = new Transaction()
      const result = await work(oneByOne(batch, transaction))
      transaction.commits()
      return result
    }
    return transact.call(this, watch as never) as Promise<T>
  }
}

function oneByOne(batch: Batch, transaction: Transaction): Batch {
  return {
    rows: (statements) => batch.rows(statements),
    run: async (statements) => {
      for (const statement of statements) {
        await batch.run([statement])
        transaction.wrote(statement.sql)
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
  let isFold = false
  const prepare = Database.prototype.prepare
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: []) {
    const statement = prepare.call(this, sql, ...rest)
    const run = statement.run.bind(statement)
    statement.run = (...values: never[]) => {
      if (sql === 'begin immediate') isFold = false
      if (sql === 'commit' && isFold) reached('before a fold is committed')
      const changes = run(...values)
      if (sql.startsWith('insert into generations')) {
        isFold = true
        reached('halfway through a fold')
      }
      return changes
    }
    return statement
  } as typeof prepare
}
