import { type Kysely, sql } from 'kysely'
import { lastOfflineMigration } from '../migrations/all.ts'
import { findEarlierNode, type LiveNode, listLiveNodes } from './live-nodes.ts'
import { type LockLimits, lockLimits, transactBounded, withMigrationLock } from './locks.ts'
import { migrateOffline } from './offline.ts'
import { runBackfillOnline } from './online-backfill.ts'
import { buildIndexOnline, readIndexProgress } from './online-index.ts'
import type { MigrationProgress, StepName } from './progress.ts'
import {
  createStepsTable,
  dropRequirement,
  listPending,
  migrationOf,
  nextSteps,
  readRecord,
  recordStep,
  requireMigration,
} from './record.ts'
import { isContract, type Step, stepsOf } from './steps.ts'

export interface OnlineOptions {
  /** A node whose last heartbeat is older than this has stopped. */
  nodeTimeoutMs: number
  progress: MigrationProgress
  limits?: LockLimits
}

/** A contract migration, and the node it waits for, which is of an earlier version. */
export interface WaitingMigration {
  name: string
  node: string
}

export interface MigrationOutcome {
  /** Migrations that were finished. */
  run: string[]
  waiting: WaitingMigration[]
}

const progressMs = 1000

/**
 * Migrates a database on PostgreSQL while nodes serve, step by step. Interrupted at any moment, it continues where it was.
 * `db` needs at least three connections, without a timeout of queries.
 */
export async function migrateOnline(db: Kysely<unknown>, options: OnlineOptions): Promise<MigrationOutcome> {
  return withMigrationLock(db, options.progress.onWait, (assertLocked) =>
    new OnlineMigration(db, options, assertLocked).run(),
  )
}

/** Migrations are pending that need all nodes stopped. */
export class NodesRunningError extends Error {
  readonly node: LiveNode

  constructor(node: LiveNode) {
    super(`${node.id} is running`)
    this.node = node
  }
}

class OnlineMigration {
  readonly #db: Kysely<unknown>
  readonly #options: OnlineOptions
  readonly #assertLocked: () => Promise<void>

  constructor(db: Kysely<unknown>, options: OnlineOptions, assertLocked: () => Promise<void>) {
    this.#db = db
    this.#options = options
    this.#assertLocked = assertLocked
  }

  async run(): Promise<MigrationOutcome> {
    const outcome: MigrationOutcome = { run: await this.#runOffline(), waiting: [] }
    const { expand, contract } = listPending(await readRecord(this.#db))
    if (expand.length + contract.length > 0) await createStepsTable(this.#db)
    for (const name of [...expand, ...contract].sort()) {
      const node = isContract(migrationOf(name)) ? await this.#requireOfAll(name) : null
      if (node) outcome.waiting.push({ name, node: node.id })
      else {
        await this.#runSteps(name)
        outcome.run.push(name)
      }
    }
    return outcome
  }

  /** A new database gets all migrations in one transaction, any other those of before they had steps. */
  async #runOffline(): Promise<string[]> {
    const { isNew, offline } = listPending(await readRecord(this.#db))
    if (offline.length === 0) return []
    const [node] = await listLiveNodes(this.#db, this.#options.nodeTimeoutMs)
    if (node) throw new NodesRunningError(node)
    const target = isNew ? {} : { upTo: lastOfflineMigration }
    return this.#db.transaction().execute((tx) => migrateOffline(tx, target))
  }

  /**
   * Makes a contract migration required, unless a node does not know it. A node sends its first heartbeat before it reads
   * what is required, so it is seen here, or does not start.
   */
  async #requireOfAll(name: string): Promise<LiveNode | null> {
    const findNode = async () =>
      findEarlierNode(await listLiveNodes(this.#db, this.#options.nodeTimeoutMs), name) ?? null
    const record = await readRecord(this.#db)
    const hasBegun = (record.steps.get(name)?.size ?? 0) > 0
    if (hasBegun) return null
    const before = await findNode()
    if (before) return before
    await requireMigration(this.#db, name)
    const after = await findNode()
    if (after) await dropRequirement(this.#db, name)
    return after
  }

  async #runSteps(name: string): Promise<void> {
    const steps = stepsOf(migrationOf(name))
    for (const step of nextSteps(await readRecord(this.#db), name)) {
      await this.#assertLocked()
      const declared = steps[step]
      if (!declared) continue
      const label = { migration: name, step: step + 1, steps: steps.length, title: declared.title }
      this.#options.progress.onStep(label)
      await this.#runStep(declared, label)
    }
  }

  async #runStep(step: Step, label: StepName): Promise<void> {
    const record = { migration: label.migration, step: label.step - 1, isFinished: true }
    if (step.kind === 'transaction') {
      await this.#transact(async (tx) => {
        await step.run(tx)
        await recordStep(tx, record)
      })
      return
    }
    if (step.kind === 'backfill') {
      const report = (detail: string) => this.#options.progress.onProgress(label, detail)
      await runBackfillOnline(this.#db, step, {
        record,
        report,
        transact: (work) => this.#transact(work),
        assertLocked: this.#assertLocked,
      })
      return
    }
    await this.#runOutside(label, (connection) =>
      step.kind === 'index'
        ? buildIndexOnline(connection, step.index, (change) => this.#transact(change))
        : step.run(connection),
    )
    await recordStep(this.#db, record)
  }

  async #transact<T>(work: (tx: Kysely<unknown>) => Promise<T>): Promise<T> {
    const { limits = lockLimits, nodeTimeoutMs, progress } = this.#options
    const isServed = (await listLiveNodes(this.#db, nodeTimeoutMs)).length > 0
    return transactBounded(this.#db, { limits, isServed, onWait: progress.onWait }, work)
  }

  /** Its commands let requests pass, so it may wait for them as long as it has to. */
  async #runOutside(label: StepName, work: (connection: Kysely<unknown>) => Promise<void>): Promise<void> {
    const { onProgress } = this.#options.progress
    const timer = setInterval(() => {
      const report = (detail: string | null) => detail !== null && onProgress(label, detail)
      void readIndexProgress(this.#db).then(report, () => undefined)
    }, progressMs)
    try {
      await this.#db.connection().execute(async (connection) => {
        for (const name of ['lock_timeout', 'statement_timeout'])
          await sql.raw(`set ${name} = 0`).execute(connection)
        await work(connection)
        for (const name of ['lock_timeout', 'statement_timeout'])
          await sql.raw(`reset ${name}`).execute(connection)
      })
    } finally {
      clearInterval(timer)
    }
  }
}
