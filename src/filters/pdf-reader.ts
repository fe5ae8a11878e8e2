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
}

const defaultLimits: ReaderLimits = {
  pages: 500,
  characters: 2_000_000,
  data: 32 * 1024 * 1024,
  milliseconds: 5_000,
}
/** Documents that wait for the thread. */
const maxPending = 100

/**
 * Reads the text of PDFs on a thread of its own, one after the other. The thread and the library are loaded with the
 * first document. A document that takes too long ends the thread, and the next one starts another.
 */
export class PdfReader {
  readonly #limits: ReaderLimits
  readonly #worker = new WorkerThread(new URL('./pdf-worker.ts', import.meta.url), null)
  #last: Promise<unknown> = Promise.resolve()
  #pending = 0

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
  }

  /** Null if it cannot be read: it is damaged, encrypted or too large, it takes too long, or it has no text. */
  async read(data: string): Promise<PdfText | null> {
    if (data.length > this.#limits.data) return null
    if (this.#pending >= maxPending)
      throw unavailableError(new Error('too many documents wait for the content filters'))
    this.#pending++
    const reading = this.#last.then(() => this.#readNow(data))
    this.#last = reading
    const result = await reading
    this.#pending--
    return result?.text.trim() ? result : null
  }

  stop(): void {
    this.#worker.terminate()
  }

  /** Never throws. */
  async #readNow(data: string): Promise<PdfText | null> {
    const { pages, characters, milliseconds } = this.#limits
    const expired = Promise.withResolvers<null>()
    const timer = setTimeout(() => {
      this.#worker.terminate()
      expired.resolve(null)
    }, milliseconds)
    const reading = this.#worker.call({ pages, characters }, [data]).catch(() => null)
    const result = await Promise.race([reading, expired.promise])
    clearTimeout(timer)
    return result as PdfText | null
  }
}
