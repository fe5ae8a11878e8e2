import { FairThread, type TaskLimits, type TaskQuota } from '../lib/fair-thread.ts'

export interface PdfText {
  text: string
  /** False: it has more than is read of one document. */
  isComplete: boolean
}

export interface PdfLimits {
  pages: number
  characters: number
}

interface ReaderLimits extends PdfLimits, TaskLimits {
  /** Of a document in base64. */
  data: number
}

const defaultLimits: ReaderLimits = {
  pages: 500,
  characters: 2_000_000,
  data: 32 * 1024 * 1024,
  milliseconds: 5_000,
  growthBytes: 512 * 1024 * 1024,
}

/** Reads the text of PDFs on a thread of its own. The thread and the library are loaded with the first document. */
export class PdfReader {
  readonly #limits: ReaderLimits
  readonly #thread: FairThread

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
    this.#thread = new FairThread(new URL('./pdf-worker.ts', import.meta.url), this.#limits)
  }

  /** Null if it cannot be read: it is damaged, encrypted or too large, it takes too long, or it has no text. */
  async read(data: string, quota: TaskQuota): Promise<PdfText | null> {
    const { pages, characters, data: maxData } = this.#limits
    if (data.length > maxData) return null
    const read = (await this.#thread.run({ pages, characters }, [data], quota)) as PdfText | null
    return read?.text.trim() ? read : null
  }

  stop(): void {
    this.#thread.stop()
  }
}
