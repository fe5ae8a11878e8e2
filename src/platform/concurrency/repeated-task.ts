/** The outcome of a run: after `idle`, the task rests until it is woken or `restMs` has passed. */
export type RunResult = 'idle' | 'busy'

export interface RepeatedTaskOptions {
  run: () => Promise<RunResult>
  /** Milliseconds between two runs, unless a run found nothing to do. */
  everyMs: number
  /** Milliseconds of rest after a run that found nothing to do: work of another process, for example, wakes nothing. */
  restMs: number
  onError: (error: unknown) => void
}

/**
 * Repeats work whose runs never overlap. It does not keep the process alive. Tasks whose intervals are multiples of each
 * other run together, so that they wake an idle process once.
 */
export class RepeatedTask {
  readonly #options: RepeatedTaskOptions
  #timer: ReturnType<typeof setTimeout> | null = null
  #dueAt = 0
  #startedAt = Number.NEGATIVE_INFINITY
  #isRunning = false
  #isWoken = false
  #isStopped = false

  constructor(options: RepeatedTaskOptions) {
    this.#options = options
  }

  start(delayMs = 0): void {
    if (delayMs > 0) this.#schedule(delayMs)
    else void this.#runOnce()
  }

  /** Reports that there is something to do: the task runs once `everyMs` has passed since the last run began. */
  wake(): void {
    if (this.#isRunning) this.#isWoken = true
    else this.#schedule(this.#startedAt + this.#options.everyMs - performance.now())
  }

  /** Runs without waiting for `everyMs`. */
  runNow(): void {
    if (this.#isRunning) this.#isWoken = true
    else void this.#runOnce()
  }

  /** A run in progress continues to its end. */
  stop(): void {
    this.#isStopped = true
    this.#clear()
  }

  async #runOnce(): Promise<void> {
    if (this.#isStopped) return
    this.#clear()
    this.#isRunning = true
    this.#isWoken = false
    this.#startedAt = performance.now()
    const { run, everyMs, restMs, onError } = this.#options
    let waitMs = everyMs
    try {
      if ((await run()) === 'idle') waitMs = restMs
    } catch (error) {
      onError(error)
    }
    this.#isRunning = false
    this.#schedule(alignWait(this.#isWoken ? everyMs : waitMs))
  }

  /** Keeps an earlier time. */
  #schedule(waitMs: number): void {
    const dueAt = performance.now() + Math.max(0, waitMs)
    if (this.#isStopped || (this.#timer && this.#dueAt <= dueAt)) return
    this.#clear()
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => void this.#runOnce(), Math.max(0, waitMs)).unref()
  }

  #clear(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}

/** The time to the next multiple of the interval that is at least half an interval away. */
function alignWait(intervalMs: number): number {
  const now = performance.now()
  return Math.ceil((Math.floor(now / intervalMs + 0.5) + 1) * intervalMs - now)
}
