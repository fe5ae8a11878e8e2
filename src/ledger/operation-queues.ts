import { OperationQueue, type RunBatch } from './operation-queue.ts'
import type { QueuedOperation } from './queued-operation.ts'

/** Operations that need the database wait in a queue of their own: they do not delay those that do not. */
export class OperationQueues {
  readonly shared: OperationQueue
  readonly local: OperationQueue

  constructor(runBatch: RunBatch) {
    this.shared = new OperationQueue(runBatch)
    this.local = new OperationQueue(runBatch)
  }

  get isRunning(): boolean {
    return this.shared.isRunning || this.local.isRunning
  }

  /** What could not be run is run first, with the database. */
  putBack(batch: readonly QueuedOperation[]): void {
    this.shared.putBack(batch)
  }

  remove(removed: ReadonlySet<QueuedOperation>): void {
    this.shared.remove(removed)
    this.local.remove(removed)
  }
}
