const minLargeLength = 1024
const maxSmallCount = 1024

/** A text that comes in pieces, and is joined once. Small ones are joined by the thousand: each takes many times its length. */
export class StringBuilder {
  #parts: string[] = []
  #small: string[] = []

  add(text: string): void {
    if (text.length >= minLargeLength) {
      this.#merge()
      this.#parts.push(text)
    } else if (text !== '' && this.#small.push(text) >= maxSmallCount) this.#merge()
  }

  /** All of it; nothing is left. */
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
