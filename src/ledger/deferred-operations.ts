import type { QueuedOperation } from './queued-operation.ts'

const retryDelayMs = 250

/** Operations that need rows which cannot be read now: they are retried later. */
export class DeferredOperations {
  readonly #retry: (queued: QueuedOperation) => void
  #waiting: QueuedOperation[] = []
  #timer: Timer | null = null

  constructor(retry: (queued: QueuedOperation) => void) {
    this.#retry = retry
  }

  get waiting(): readonly QueuedOperation[] {
    return this.#waiting
  }

  add(operations: readonly QueuedOperation[]): void {
    this.#waiting.push(...operations)
    this.#timer ??= setTimeout(() => this.#retryAll(), retryDelayMs).unref()
  }

  remove(removed: ReadonlySet<QueuedOperation>): void {
    this.#waiting = this.#waiting.filter((queued) => !removed.has(queued))
  }

  #retryAll(): void {
    this.#timer = null
    for (const queued of this.#waiting.splice(0)) this.#retry(queued)
  }
}
