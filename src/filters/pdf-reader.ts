import { unavailableError } from '../errors/gateway-error.ts'
import { WorkerThread } from '../lib/worker-thread.ts'

export interface PdfText {
  text: string
  /** False: it has more than is read of one document. */
  isComplete: boolean
}

export interface PdfLimits {
  pages: number
  characters: number
}

interface ReaderLimits extends PdfLimits {
  /** Of a document in base64. */
  data: number
  milliseconds: number
  /** By how much the memory of the process may grow meanwhile: a small document can unpack to gigabytes. */
  growthBytes: number
}

/** What a request may use of the reader. */
export interface PdfQuota {
  /** The organization: those whose documents wait take turns. */
  owner: string
  /** Left for reading, without the time that documents wait. */
  milliseconds: number
}

interface WaitingDocument {
  data: string
  quota: PdfQuota
  result: PromiseWithResolvers<PdfText | null>
}

const defaultLimits: ReaderLimits = {
  pages: 500,
  characters: 2_000_000,
  data: 32 * 1024 * 1024,
  milliseconds: 5_000,
  growthBytes: 512 * 1024 * 1024,
}
/** Documents of one organization that wait for the thread. */
const maxWaiting = 50
const watchMs = 50

/**
 * Reads the text of PDFs on a thread of its own, one after the other. The thread and the library are loaded with the
 * first document. A document that takes too long ends the thread, and the next one starts another.
 */
export class PdfReader {
  readonly #limits: ReaderLimits
  readonly #worker = new WorkerThread(new URL('./pdf-worker.ts', import.meta.url), null)
  /** By organization; the next one is the first. */
  readonly #waiting = new Map<string, WaitingDocument[]>()
  #isReading = false

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
  }

  /** Null if it cannot be read: it is damaged, encrypted or too large, it takes too long, or it has no text. */
  async read(data: string, quota: PdfQuota): Promise<PdfText | null> {
    if (data.length > this.#limits.data) return null
    const waiting = this.#waiting.get(quota.owner) ?? []
    if (waiting.length >= maxWaiting)
      throw unavailableError(new Error('too many documents wait for the content filters'))
    const document = { data, quota, result: Promise.withResolvers<PdfText | null>() }
    waiting.push(document)
    this.#waiting.set(quota.owner, waiting)
    if (!this.#isReading) void this.#readWaiting()
    const read = await document.result.promise
    return read?.text.trim() ? read : null
  }

  stop(): void {
    this.#worker.terminate()
  }

  /** Never throws. */
  async #readWaiting(): Promise<void> {
    this.#isReading = true
    for (let document = this.#takeNext(); document; document = this.#takeNext()) {
      const { data, quota, result } = document
      const startedAt = performance.now()
      result.resolve(quota.milliseconds > 0 ? await this.#readNow(data) : null)
      quota.milliseconds -= performance.now() - startedAt
    }
    this.#isReading = false
  }

  #takeNext(): WaitingDocument | undefined {
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
  async #readNow(data: string): Promise<PdfText | null> {
    const { pages, characters, milliseconds, growthBytes } = this.#limits
    const stopped = Promise.withResolvers<null>()
    const stop = () => {
      this.#worker.terminate()
      stopped.resolve(null)
    }
    const timer = setTimeout(stop, milliseconds)
    const maxMemory = process.memoryUsage.rss() + growthBytes
    const watch = setInterval(() => {
      if (process.memoryUsage.rss() > maxMemory) stop()
    }, watchMs)
    const reading = this.#worker.call({ pages, characters }, [data]).catch(() => null)
    const result = await Promise.race([reading, stopped.promise])
    clearTimeout(timer)
    clearInterval(watch)
    return result as PdfText | null
  }
}
