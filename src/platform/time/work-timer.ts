/** An interval that work starts, and that ends with the first run that finds none, so that an idle process is not woken. */
export class WorkTimer {
  readonly #run: () => Promise<boolean>
  readonly #intervalMs: number
  #timer: ReturnType<typeof setInterval> | null = null

  /** `run` returns whether there was work. It must not throw. */
  constructor(run: () => Promise<boolean>, intervalMs: number) {
    this.#run = run
    this.#intervalMs = intervalMs
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.#tick(), this.#intervalMs).unref()
  }

  stop(): void {
    if (this.#timer) clearInterval(this.#timer)
    this.#timer = null
  }

  async #tick(): Promise<void> {
    if (!(await this.#run())) this.stop()
  }
}
