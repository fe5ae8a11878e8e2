import { FairThread, type TaskLimits, type TaskQuota } from '../../platform/concurrency/fair-thread.ts'

export interface HtmlText {
  title: string | null
  /** Markdown. */
  text: string
  isComplete: boolean
}

export interface HtmlRequest {
  /** The charset of the Content-Type header. */
  charset: string | null
  /** The address of the page, which its links are relative to. */
  url: string
  maxCharacters: number
}

const defaultLimits: TaskLimits = { milliseconds: 5_000, growthBytes: 512 * 1024 * 1024 }

/** Reads the text of HTML pages in a worker thread, which is started for the first page. */
export class HtmlReader {
  readonly #thread: FairThread

  constructor(limits: Partial<TaskLimits> = {}) {
    this.#thread = new FairThread(new URL('./html-worker.ts', import.meta.url), {
      ...defaultLimits,
      ...limits,
    })
  }

  /** Reads a page; null if that is not possible within the limits. */
  async read(bytes: Uint8Array, request: HtmlRequest, quota: TaskQuota): Promise<HtmlText | null> {
    // Bytes as characters: only texts reach the thread without a copy.
    const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
    return (await this.#thread.run(request, [data], quota)) as HtmlText | null
  }

  stop(): void {
    this.#thread.stop()
  }
}
