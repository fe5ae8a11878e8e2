/** Counts in slots of time. What is older than the slots reach is forgotten by itself. */
export class SlidingCounter {
  readonly #slotMs: number
  readonly #slotCount: number
  readonly #fieldCount: number
  readonly #counts: Uint32Array
  /** The slot of time that stands at each place. */
  readonly #stamps: Float64Array

  constructor(slotMs: number, slots: number, fields: number) {
    this.#slotMs = slotMs
    this.#slotCount = slots
    this.#fieldCount = fields
    this.#counts = new Uint32Array(slots * fields)
    this.#stamps = new Float64Array(slots).fill(-1)
  }

  add(now: number, field: number): void {
    const cacheKey = Math.floor(now / this.#slotMs)
    const index = cacheKey % this.#slotCount
    if (this.#stamps[index] !== cacheKey) {
      this.#stamps[index] = cacheKey
      this.#counts.fill(0, index * this.#fieldCount, (index + 1) * this.#fieldCount)
    }
    const at = index * this.#fieldCount + field
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** Of the slots that reach into the window: nothing is forgotten before its time. A clock put back leaves some ahead. */
  sum(now: number, windowMs: number, field: number): number {
    const oldest = (now - windowMs) / this.#slotMs - 1
    const newest = now / this.#slotMs
    let sum = 0
    for (let index = 0; index < this.#slotCount; index++) {
      const stamp = this.#stamps[index] ?? -1
      if (stamp <= oldest || stamp > newest) continue
      sum += this.#counts[index * this.#fieldCount + field] ?? 0
    }
    return sum
  }
}
