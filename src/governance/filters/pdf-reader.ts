import { FairThread, type TaskLimits, type TaskQuota } from '../../platform/concurrency/fair-thread.ts'

export interface PdfText {
  text: string
  /** False: it has more than is read of one document. */
  isComplete: boolean
}

export interface PdfLimits {
  pages: number
  characters: number
}

/** A task of the thread, for one document. */
export type PdfTask = { kind: 'read'; limits: PdfLimits } | { kind: 'count' }

interface ReaderLimits extends PdfLimits, TaskLimits {
  /** Maximum length of a document in base64. */
  data: number
}

const defaultLimits: ReaderLimits = {
  pages: 500,
  characters: 2_000_000,
  data: 32 * 1024 * 1024,
  milliseconds: 5_000,
  growthBytes: 512 * 1024 * 1024,
  // The library itself takes a part of it.
  smallGrowthBytes: 160 * 1024 * 1024,
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
    const task: PdfTask = { kind: 'read', limits: { pages, characters } }
    const read = (await this.#thread.run(task, [data], quota)) as PdfText | null
    return read?.text.trim() ? read : null
  }

  /** The number of its pages. Null if it cannot be read, whether or not it has text. */
  async countPages(data: string, quota: TaskQuota): Promise<number | null> {
    if (data.length > this.#limits.data) return null
    const task: PdfTask = { kind: 'count' }
    return (await this.#thread.run(task, [data], quota)) as number | null
  }

  stop(): void {
    this.#thread.stop()
  }
}
