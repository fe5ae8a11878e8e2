import type { QueuedOperation } from './queued-operation.ts'

/** Bounds the size of one batch. */
const maxBatchSize = 256

/** Runs a batch; without a promise if nothing has to be waited for. Never rejects. */
export type RunBatch = (batch: QueuedOperation[]) => Promise<void> | null

/**
 * Operations that wait to be run. Those that arrive together, or while a batch is run, are run together; batches are
 * run one after another.
 */
export class OperationQueue {
  readonly #runBatch: RunBatch
  #waiting: QueuedOperation[] = []
  #isRunning = false

  constructor(runBatch: RunBatch) {
    this.#runBatch = runBatch
  }

  /** A batch is run, or will be. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  get waiting(): readonly QueuedOperation[] {
    return this.#waiting
  }

  push(queued: QueuedOperation): void {
    this.#waiting.push(queued)
    if (this.#isRunning) return
    this.#isRunning = true
    setImmediate(this.#run)
  }

  /** Adds an operation and runs it without waiting for others to join its batch. */
  pushAndRun(queued: QueuedOperation): void {
    this.#waiting.push(queued)
    if (this.#isRunning) return
    this.#isRunning = true
    this.#run()
  }

  /** Operations that were taken and not run are run first, by the batch that follows. */
  putBack(batch: readonly QueuedOperation[]): void {
    this.#waiting.unshift(...batch)
    if (this.#isRunning) return
    this.#isRunning = true
    setImmediate(this.#run)
  }

  remove(removed: ReadonlySet<QueuedOperation>): void {
    this.#waiting = this.#waiting.filter((queued) => !removed.has(queued))
  }

  readonly #run = (): void => {
    while (this.#waiting.length > 0) {
      const running = this.#runBatch(this.#takeBatch())
      if (running) return void running.then(this.#run)
    }
    this.#isRunning = false
  }

  #takeBatch(): QueuedOperation[] {
    const waiting = this.#waiting
    if (waiting.length > maxBatchSize) return waiting.splice(0, maxBatchSize)
    this.#waiting = []
    return waiting
  }
}
