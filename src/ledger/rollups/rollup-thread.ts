import { WorkerThread } from '../../lib/worker-thread.ts'
import type { RetentionPolicy } from './retention.ts'

export type RollupTask =
  | { kind: 'open'; url: string }
  | { kind: 'roll'; isAll: boolean }
  | { kind: 'tidy'; now: number; policy: RetentionPolicy }
  | { kind: 'publish'; now: number; retentionDays: number | null }

/** Maintains the roll-ups on a thread and a connection of its own. */
export class RollupThread {
  readonly #thread: WorkerThread

  constructor(url: string) {
    const opening: RollupTask = { kind: 'open', url }
    this.#thread = new WorkerThread(new URL('rollup-worker.ts', import.meta.url), opening)
  }

  /** Rolls up only if there are enough rows for a segment, or everything. */
  async rollUp({ isAll } = { isAll: false }): Promise<void> {
    await this.#send({ kind: 'roll', isAll })
  }

  async runMaintenance(now: number, policy: RetentionPolicy): Promise<void> {
    await this.#send({ kind: 'tidy', now, policy })
  }

  /** Publishes the figures of the datasets. */
  async publish(now: number, retentionDays: number | null): Promise<void> {
    await this.#send({ kind: 'publish', now, retentionDays })
  }

  #send(task: RollupTask): Promise<unknown> {
    return this.#thread.call(task)
  }
}
