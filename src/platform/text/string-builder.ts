const minLargeLength = 1024
const maxSmallCount = 1024

/** Joins chunks once, at the end. Small chunks are merged by the thousand, because each has a large overhead. */
export class StringBuilder {
  #parts: string[] = []
  #small: string[] = []

  add(text: string): void {
    if (text.length >= minLargeLength) {
      this.#merge()
      this.#parts.push(text)
    } else if (text !== '' && this.#small.push(text) >= maxSmallCount) this.#merge()
  }

  /** Returns the text and empties the builder. */
  take(): string {
    const parts = this.#parts.length === 0 ? this.#small : [...this.#parts, ...this.#small]
    this.#parts = []
    this.#small = []
    return parts.length === 1 ? (parts[0] ?? '') : parts.join('')
  }

  #merge(): void {
    if (this.#small.length > 0) this.#parts.push(this.#small.join(''))
    this.#small = []
  }
}
