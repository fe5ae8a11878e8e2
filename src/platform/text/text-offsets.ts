const stepBytes = 1024

/** Converts between UTF-8 byte offsets and string offsets without counting from the start each time. */
export class TextOffsets {
  readonly #text: string
  #utf8: Buffer | null = null
  /** Characters before each step; null if every character is one byte. */
  #steps: number[] | null = null

  constructor(text: string) {
    this.#text = text
  }

  /** Characters in the first `bytes` bytes; a partial character counts. */
  toCharacters(bytes: number): number {
    const utf8 = this.#encode()
    const at = Math.min(Math.max(0, Math.trunc(bytes)), utf8.length)
    if (!this.#steps) return at
    const step = Math.floor(at / stepBytes)
    return (this.#steps[step] ?? 0) + countCharacters(utf8, step * stepBytes, at)
  }

  /** Bytes of the first `characters` characters. */
  toBytes(characters: number): number {
    const utf8 = this.#encode()
    const target = Math.min(Math.max(0, Math.trunc(characters)), this.#text.length)
    if (!this.#steps) return target
    let [low, high] = [0, this.#steps.length - 1]
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#steps[middle] ?? 0) <= target) low = middle
      else high = middle - 1
    }
    let count = this.#steps[low] ?? 0
    let at = low * stepBytes
    while (at < utf8.length && (count < target || isContinuation(utf8[at]))) count += charactersOf(utf8[at++])
    return at
  }

  /** Lazy, because most texts have no citations. */
  #encode(): Buffer {
    if (this.#utf8) return this.#utf8
    const utf8 = Buffer.from(this.#text)
    this.#utf8 = utf8
    if (utf8.length === this.#text.length) return utf8
    this.#steps = [0]
    for (let at = 0; at + stepBytes <= utf8.length; at += stepBytes) {
      this.#steps.push((this.#steps.at(-1) ?? 0) + countCharacters(utf8, at, at + stepBytes))
    }
    return utf8
  }
}

function countCharacters(utf8: Buffer, from: number, to: number): number {
  let count = 0
  for (let at = from; at < to; at++) count += charactersOf(utf8[at])
  return count
}

function isContinuation(byte = 0): boolean {
  return (byte & 0xc0) === 0x80
}

/** UTF-16 units of the character that starts with this byte; four bytes are a surrogate pair. */
function charactersOf(byte = 0): number {
  return isContinuation(byte) ? 0 : byte >= 0xf0 ? 2 : 1
}
