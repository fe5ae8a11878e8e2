/** One megabit: enough for the shapes of a text that is accepted, in 128 KiB. */
const bitCount = 2 ** 20

/** A sender cannot choose names whose hashes collide. */
const seed = Math.floor(Math.random() * 2 ** 31)

/**
 * Counts the shapes of the objects in a JSON text: different names, or the same ones in another order. To parse an
 * object of a new shape takes ten times as long as one of a known shape, and many times its memory. The count is an
 * estimate that is a few percent too low.
 */
export class ShapeCounter {
  readonly #seen = new Uint32Array(bitCount / 32)
  /** The hash of the names so far, for each open object. */
  readonly #open: Int32Array
  count = 0

  constructor(maxDepth: number) {
    this.#open = new Int32Array(maxDepth + 1)
  }

  openObject(depth: number): void {
    this.#open[depth] = seed
  }

  /** Adds the name `prefix + text.slice(start, end)` to the object that is open at `depth`. */
  addName(depth: number, prefix: string, text: string, start: number, end: number): void {
    let hash = Math.imul((this.#open[depth] ?? seed) ^ 0x2c, prime)
    for (let at = 0; at < prefix.length; at++) hash = Math.imul(hash ^ prefix.charCodeAt(at), prime)
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ text.charCodeAt(at), prime)
    hash ^= hash >>> 15
    this.#open[depth] = hash
    const [word, bit] = [(hash >>> 5) % (bitCount / 32), 1 << (hash & 31)]
    const seen = this.#seen[word] ?? 0
    if (seen & bit) return
    this.#seen[word] = seen | bit
    this.count++
  }
}

/** The prime of the FNV hash. */
const prime = 0x01000193
