// Loaded before the gateway, in its process and in its threads: lets the process die at a named point.
import { Database } from 'bun:sqlite'
import { readFileSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'
import type { Batch } from '../../src/db/batch.ts'
import type { KillPoint } from './points.ts'

const file = process.env.HEADGATE_KILL_FILE ?? '/dev/null'
const passes = new Map<string, number>()

/** The file holds the name of a point and which of the passes from now on is the last. */
function reached(point: KillPoint): void {
  const armed = readFileSync(file, 'utf8')
  const [name, count] = armed.split('#')
  if (name !== point) return
  const pass = (passes.get(armed) ?? 0) + 1
  passes.set(armed, pass)
  if (pass >= Number(count)) process.kill(process.pid, 'SIGKILL')
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
  await watchEngine()
  await watchStreams()
  await watchPostgres()
  watchThreads()
} else watchSqlite()

async function watchEngine(): Promise<void> {
  const { Engine } = await import('../../src/ledger/engine.ts')
  const run = Engine.prototype.run
  Engine.prototype.run = async function (ops, now) {
    const kinds = new Set(ops.map(({ op }) => op))
    if (kinds.has('admit')) reached('before a hold is written')
    if (kinds.has('settle')) reached('before a settlement is written')
    const results = await run.call(this, ops, now)
    if (kinds.has('admit')) reached('after a hold is committed')
    if (kinds.has('note')) reached('after a checkpoint')
    if (kinds.has('settle')) reached('after a settlement is committed')
    return results
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
    run: async (statements, mustLast) => {
      for (const statement of statements) {
        await batch.run([statement], mustLast)
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
  let transaction = new Transaction()
  const prepare = Database.prototype.prepare
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: []) {
    const statement = prepare.call(this, sql, ...rest)
    const run = statement.run.bind(statement)
    statement.run = (...values: never[]) => {
      if (sql === 'begin immediate') transaction = new Transaction()
      if (sql === 'commit') transaction.commits()
      const changes = run(...values)
      transaction.wrote(sql)
      return changes
    }
    return statement
  } as typeof prepare
}
