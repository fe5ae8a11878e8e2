import { unavailableError } from '../platform/errors/gateway-error.ts'
import type { QueuedOperation } from './queued-operation.ts'

/** Committed batches with settlements that are not on disk yet. Other operations do not wait for them. */
export class UnsyncedBatches {
  readonly #batches = new Set<readonly QueuedOperation[]>()

  get size(): number {
    return this.#batches.size
  }

  /** The settlements in it. */
  get settlements(): QueuedOperation[] {
    return [...this.#batches].flat().filter(({ op }) => op.op === 'settle')
  }

  /** Calls `finish` for each settlement of the batch once they are durable, or will not be. */
  add(
    batch: readonly QueuedOperation[],
    durable: Promise<void>,
    finish: (queued: QueuedOperation) => void,
  ): void {
    this.#batches.add(batch)
    const end = (error: unknown) => {
      this.#batches.delete(batch)
      for (const queued of batch) {
        if (queued.op.op !== 'settle') continue
        if (error) queued.reject(error)
        finish(queued)
      }
    }
    void durable.then(end, (cause: unknown) => end(unavailableError(cause)))
  }
}
