// One line of progress: rewritten on a terminal, printed now and then elsewhere.

const intervalMs = 20_000

export class Display {
  #describe
  #isTerminal
  #output
  #printedAt = Date.now()

  constructor(describe, output = process.stdout) {
    this.#describe = describe
    this.#output = output
    this.#isTerminal = output.isTTY === true
  }

  update() {
    if (this.#isTerminal) {
      const line = this.#describe().slice(0, (this.#output.columns ?? 80) - 1)
      this.#output.write(`\r\x1b[K${line}`)
    } else if (Date.now() - this.#printedAt >= intervalMs) {
      this.#printedAt = Date.now()
      this.#output.write(`${this.#describe()}\n`)
    }
  }

  /** Prints above the line of progress. */
  print(text) {
    this.clear()
    this.#output.write(text)
  }

  clear() {
    if (this.#isTerminal) this.#output.write('\r\x1b[K')
  }
}
