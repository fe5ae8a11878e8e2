/** Counts in time slots; older counts expire as their slots are reused. */
export class SlidingCounter {
  readonly #slotMs: number
  readonly #slotCount: number
  readonly #fieldCount: number
  readonly #counts: Uint32Array
  /** The time slot stored at each index. */
  readonly #stamps: Float64Array

  constructor(slotMs: number, slots: number, fields: number) {
    this.#slotMs = slotMs
    this.#slotCount = slots
    this.#fieldCount = fields
    this.#counts = new Uint32Array(slots * fields)
    this.#stamps = new Float64Array(slots).fill(-1)
  }

  add(now: number, field: number, amount = 1): void {
    const slot = Math.floor(now / this.#slotMs)
    const index = slot % this.#slotCount
    if (this.#stamps[index] !== slot) {
      this.#stamps[index] = slot
      this.#counts.fill(0, index * this.#fieldCount, (index + 1) * this.#fieldCount)
    }
    const at = index * this.#fieldCount + field
    this.#counts[at] = (this.#counts[at] ?? 0) + amount
  }

  /** The count of one slot: 0 is the current one. */
  countSlot(now: number, slotsAgo: number, field: number): number {
    const slot = Math.floor(now / this.#slotMs) - slotsAgo
    const index = slot % this.#slotCount
    return this.#stamps[index] === slot ? (this.#counts[index * this.#fieldCount + field] ?? 0) : 0
  }

  /** Includes slots that are partly in the window. After the clock is set back, slots in the future are skipped. */
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
