/** Writes bits from the highest to the lowest of each byte. */
export class BitWriter {
  #bytes: Buffer
  #length = 0
  #pending = 0
  #pendingBits = 0

  constructor(capacity = 1024) {
    this.#bytes = Buffer.alloc(capacity)
  }

  /** At most 24 bits. */
  writeBits(value: number, count: number): void {
    this.#pending = (this.#pending << count) | value
    this.#pendingBits += count
    while (this.#pendingBits >= 8) {
      this.#pendingBits -= 8
      this.#reserve(1)
      this.#bytes[this.#length++] = this.#pending >> this.#pendingBits
    }
    this.#pending &= (1 << this.#pendingBits) - 1
  }

  /** Fills the current byte with a bit. */
  align(bit: 0 | 1 = 0): void {
    const missing = (8 - this.#pendingBits) % 8
    this.writeBits(bit * ((1 << missing) - 1), missing)
  }

  /** Only after `align`. */
  writeBytes(bytes: Uint8Array): void {
    this.#reserve(bytes.length)
    this.#bytes.set(bytes, this.#length)
    this.#length += bytes.length
  }

  finish(): Buffer {
    this.align()
    return this.#bytes.subarray(0, this.#length)
  }

  #reserve(count: number): void {
    if (this.#length + count <= this.#bytes.length) return
    const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, this.#length + count))
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }
}
