/** Bytes that are read of a stream before its command is ended, as a multiple of those returned. */
const floodFactor = 64

/** Reads one output of a command as fast as it comes, and retains its beginning. */
export class OutputReader {
  readonly #maxBytes: number
  readonly #chunks: Uint8Array[] = []
  #size = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** `onFlood` is called once when there is far more than is returned. */
  async read(stream: ReadableStream<Uint8Array>, onFlood: () => void): Promise<void> {
    let isFlood = false
    for await (const chunk of stream) {
      const room = this.#maxBytes - this.#size
      if (room > 0) this.#chunks.push(chunk.slice(0, room))
      this.#size += chunk.length
      if (isFlood || this.#size <= this.#maxBytes * floodFactor) continue
      isFlood = true
      onFlood()
    }
  }

  /** Returns at most `maxLength` characters, and a notice if there was more. */
  toText(maxLength: number): string {
    const text = new TextDecoder().decode(Buffer.concat(this.#chunks))
    const isCut = this.#size > this.#maxBytes || text.length > maxLength
    if (!isCut) return text
    // Not between the two halves of a character.
    const shown = text.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')
    return `${shown}\n[output truncated: ${this.#size} bytes in total]\n`
  }
}
