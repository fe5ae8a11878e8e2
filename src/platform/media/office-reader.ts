import { FairThread, type TaskLimits, type TaskQuota } from '../concurrency/fair-thread.ts'
import type { OfficeLimits, OfficeText } from './office-text.ts'

interface ReaderLimits extends OfficeLimits, TaskLimits {
  /** Characters of a document in base64. */
  data: number
}

const defaultLimits: ReaderLimits = {
  characters: 2_000_000,
  unpackedBytes: 64 * 1024 * 1024,
  data: 32 * 1024 * 1024,
  milliseconds: 5_000,
  growthBytes: 512 * 1024 * 1024,
}

/** Reads the text of Office and OpenDocument files on a thread of its own. */
export class OfficeReader {
  readonly #limits: ReaderLimits
  readonly #thread: FairThread

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...defaultLimits, ...limits }
    this.#thread = new FairThread(new URL('./office-worker.ts', import.meta.url), this.#limits)
  }

  /** Null if it cannot be read: it is no such document, damaged, encrypted or too large, or it has no text. */
  async read(data: string, quota: TaskQuota): Promise<OfficeText | null> {
    const { characters, unpackedBytes, data: maxData } = this.#limits
    if (data.length > maxData) return null
    const read = (await this.#thread.run({ characters, unpackedBytes }, [data], quota)) as OfficeText | null
    return read?.text.trim() ? read : null
  }

  stop(): void {
    this.#thread.stop()
  }
}
