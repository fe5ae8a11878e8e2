/**
 * Aborts with the first of its sources, or after a time. Used instead of `AbortSignal.any` and `AbortSignal.timeout`:
 * the runtime keeps a signal of these alive while it has listeners and its sources or its timer exist, and a listener
 * that refers to a source then keeps both forever. After `close` nothing refers to this one.
 */
export class LinkedAbortController {
  readonly #controller = new AbortController()
  readonly #sources: readonly AbortSignal[]
  readonly #timer: ReturnType<typeof setTimeout> | undefined
  #isTimedOut = false

  constructor(sources: readonly AbortSignal[], timeoutMs?: number) {
    this.#sources = sources
    for (const source of sources) source.addEventListener('abort', this.#follow)
    if (sources.some(({ aborted }) => aborted)) this.#follow()
    else if (timeoutMs !== undefined) this.#timer = setTimeout(this.#expire, timeoutMs).unref()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Whether the time limit, and no source, has aborted it. */
  get isTimedOut(): boolean {
    return this.#isTimedOut
  }

  /** Removes the time limit. */
  clearTimeout(): void {
    clearTimeout(this.#timer)
  }

  /** Ends the link to sources and time: the work that it could abort has ended. */
  close(): void {
    this.clearTimeout()
    for (const source of this.#sources) source.removeEventListener('abort', this.#follow)
  }

  #follow = (): void => {
    const source = this.#sources.find(({ aborted }) => aborted)
    this.close()
    this.#controller.abort(source?.reason)
  }

  #expire = (): void => {
    this.#isTimedOut = true
    this.close()
    this.#controller.abort(new DOMException('The operation timed out.', 'TimeoutError'))
  }
}
