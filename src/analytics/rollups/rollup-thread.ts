import type { ClickHouseConfig } from '../../config/clickhouse.ts'
import { WorkerThread } from '../../platform/concurrency/worker-thread.ts'
import type { Db } from '../../platform/db/db.ts'
import type { ExportReport } from '../clickhouse/export.ts'
import type { EndUserRename, RenameReport } from './rename-end-user.ts'
import type { RetentionPolicy } from './retention.ts'
import { hasUnrolled, minSegmentRows } from './unrolled.ts'

/** What the thread connects to. */
interface RollupStores {
  /** The database. */
  url: string
  clickhouse: ClickHouseConfig | null
}

export type RollupTask =
  | ({ kind: 'open' } & RollupStores)
  | { kind: 'roll'; isAll: boolean }
  | { kind: 'tidy'; now: number; policy: RetentionPolicy }
  | { kind: 'publish'; now: number; retentionDays: number | null }
  | { kind: 'export'; now: number; owner: string }
  | { kind: 'rename'; rename: EndUserRename }
  | { kind: 'close' }

/** Time without work after which the thread ends: longer than the time between two roll-ups under load. */
const idleMs = 20_000

/** Maintains the roll-ups on a thread and a connection of its own, which exist only while there is work. */
export class RollupThread {
  readonly #db: Db
  readonly #thread: WorkerThread

  constructor(stores: RollupStores, db: Db) {
    const opening: RollupTask = { kind: 'open', ...stores }
    const closing: RollupTask = { kind: 'close' }
    const idleEnd = { afterMs: idleMs, message: closing }
    this.#db = db
    this.#thread = new WorkerThread(new URL('rollup-worker.ts', import.meta.url), opening, idleEnd)
  }

  get isRunning(): boolean {
    return this.#thread.isRunning
  }

  /** Rolls up only if there are enough rows for a segment, or everything. Returns whether there were. */
  async rollUp({ isAll } = { isAll: false }): Promise<boolean> {
    if (!(await hasUnrolled(this.#db, isAll ? 1 : minSegmentRows))) return false
    await this.#send({ kind: 'roll', isAll })
    return true
  }

  async runMaintenance(now: number, policy: RetentionPolicy): Promise<void> {
    await this.#send({ kind: 'tidy', now, policy })
  }

  /** Publishes the figures of the datasets. */
  async publish(now: number, retentionDays: number | null): Promise<void> {
    await this.#send({ kind: 'publish', now, retentionDays })
  }

  /** Sends generations to ClickHouse. */
  async exportGenerations(now: number, owner: string): Promise<ExportReport> {
    return (await this.#send({ kind: 'export', now, owner })) as ExportReport
  }

  /** Renames an end user in some days of the roll-ups. */
  async renameEndUser(rename: EndUserRename): Promise<RenameReport> {
    return (await this.#send({ kind: 'rename', rename })) as RenameReport
  }

  #send(task: RollupTask): Promise<unknown> {
    return this.#thread.call(task)
  }
}
