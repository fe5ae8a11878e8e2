import { unavailableError } from '../errors/gateway-error.ts'
import { WorkerThread } from './worker-thread.ts'

export interface TaskLimits {
  milliseconds: number
  /** Bytes by which a task may grow the memory of the process: a small document can unpack to gigabytes. */
  growthBytes: number
  /** The same for a small document, which grows with its length; absent if the length does not matter. */
  smallGrowthBytes?: number
}

/** The share of the thread that a request may use. */
export interface TaskQuota {
  /** The organization: those whose tasks wait take turns. */
  owner: string
  /** Left for its tasks, without the time that they wait. */
  milliseconds: number
}

interface WaitingTask {
  request: unknown
  texts: readonly string[]
  quota: TaskQuota
  result: PromiseWithResolvers<unknown>
}

/** Tasks of one organization that wait for the thread. */
const maxWaiting = 50
const watchMs = 50
/** Documents are rare, and the code that reads them is large. */
const idleMs = 60_000

/**
 * A worker thread for tasks that what users send could make long: one after the other, in turns of the
 * organizations, within limits. A task beyond its limits ends the thread, and the next one starts another.
 */
export class FairThread {
  readonly #limits: TaskLimits
  readonly #worker: WorkerThread
  /** Waiting tasks by organization; the organization whose turn is next comes first. */
  readonly #waiting = new Map<string, WaitingTask[]>()
  #isRunning = false

  constructor(file: URL, limits: TaskLimits) {
    this.#worker = new WorkerThread(file, null, { afterMs: idleMs })
    this.#limits = limits
  }

  /** Null if it failed or exceeded a limit. Throws only if too many tasks wait. */
  run(request: unknown, texts: readonly string[], quota: TaskQuota): Promise<unknown> {
    const waiting = this.#waiting.get(quota.owner) ?? []
    if (waiting.length >= maxWaiting) throw unavailableError(new Error('too many documents wait to be read'))
    const task = { request, texts, quota, result: Promise.withResolvers<unknown>() }
    waiting.push(task)
    this.#waiting.set(quota.owner, waiting)
    if (!this.#isRunning) void this.#runWaiting()
    return task.result.promise
  }

  stop(): void {
    this.#worker.terminate()
  }

  /** Never throws. */
  async #runWaiting(): Promise<void> {
    this.#isRunning = true
    for (let task = this.#takeNext(); task; task = this.#takeNext()) {
      const startedAt = performance.now()
      task.result.resolve(task.quota.milliseconds > 0 ? await this.#runNow(task) : null)
      task.quota.milliseconds -= performance.now() - startedAt
    }
    this.#isRunning = false
  }

  #takeNext(): WaitingTask | undefined {
    for (const [owner, waiting] of this.#waiting) {
      const next = waiting.shift()
      // The next turn of this organization is after those of the others.
      this.#waiting.delete(owner)
      if (waiting.length > 0) this.#waiting.set(owner, waiting)
      return next
    }
    return undefined
  }

  /** Never throws. */
  async #runNow({ request, texts }: WaitingTask): Promise<unknown> {
    const { milliseconds } = this.#limits
    const stopped = Promise.withResolvers<null>()
    const stop = () => {
      this.#worker.terminate()
      stopped.resolve(null)
    }
    const timer = setTimeout(stop, milliseconds)
    const maxMemory = process.memoryUsage.rss() + computeGrowth(this.#limits, texts)
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() > maxMemory) stop()
    }, watchMs)
    const running = this.#worker.call(request, texts).catch(() => null)
    const result = await Promise.race([running, stopped.promise])
    clearTimeout(timer)
    clearInterval(watch)
    return result
  }
}

/** Bytes of memory that a document of ordinary compression takes for each character. */
const growthPerCharacter = 16

export function computeGrowth(
  { growthBytes, smallGrowthBytes = growthBytes }: Pick<TaskLimits, 'growthBytes' | 'smallGrowthBytes'>,
  texts: readonly string[],
): number {
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  return Math.min(growthBytes, smallGrowthBytes + growthPerCharacter * length)
}
