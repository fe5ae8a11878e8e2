import { listAdmissions, type QueuedOperation } from './queued-operation.ts'

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

  /** An admission that was given up is not run again: its release is queued already, and must be the last. */
  add(operations: readonly QueuedOperation[]): void {
    this.#waiting.push(...operations.filter((queued) => !isGivenUp(queued)))
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

function isGivenUp({ op, deadline }: QueuedOperation): boolean {
  return deadline === Number.POSITIVE_INFINITY && listAdmissions(op).length > 0
}
