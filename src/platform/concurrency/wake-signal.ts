/** Starts work a moment after it was requested, once for all requests in the meantime. */
export class WakeSignal {
  readonly #delayMs: number
  #listener: (() => void) | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(delayMs: number) {
    this.#delayMs = delayMs
  }

  listen(listener: () => void): void {
    this.#listener = listener
  }

  wake(): void {
    if (this.#timer || !this.#listener) return
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#listener?.()
    }, this.#delayMs).unref()
  }
}
