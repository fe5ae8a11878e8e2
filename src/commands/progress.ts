const terminalIntervalMs = 500
/** Interval in a log, where each update is a line of its own. */
const logIntervalMs = 10_000

/** A count on standard error, for a command that takes long. On a terminal it replaces itself. */
export class ProgressLine {
  readonly #unit: string
  readonly #isTerminal = process.stderr.isTTY === true
  #writtenAt = performance.now()

  constructor(unit: string) {
    this.#unit = unit
  }

  update(count: number): void {
    this.show(`${count.toLocaleString('en')} ${this.#unit}`)
  }

  show(text: string): void {
    const now = performance.now()
    if (now - this.#writtenAt < (this.#isTerminal ? terminalIntervalMs : logIntervalMs)) return
    this.#writtenAt = now
    process.stderr.write(this.#isTerminal ? `\r\u001b[K${text}` : `${text}\n`)
  }

  end(): void {
    if (this.#isTerminal) process.stderr.write('\r\u001b[K')
  }
}
