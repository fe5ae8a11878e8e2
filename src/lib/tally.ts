/** Counts in slots of time. What is older than the slots reach is forgotten by itself. */
export class Tally {
  readonly #slotMs: number
  readonly #slots: number
  readonly #fields: number
  readonly #counts: Uint32Array
  /** The slot of time that stands at each place. */
  readonly #stamps: Float64Array

  constructor(slotMs: number, slots: number, fields: number) {
    this.#slotMs = slotMs
    this.#slots = slots
    this.#fields = fields
    this.#counts = new Uint32Array(slots * fields)
    this.#stamps = new Float64Array(slots).fill(-1)
  }

  add(now: number, field: number): void {
    const slot = Math.floor(now / this.#slotMs)
    const place = slot % this.#slots
    if (this.#stamps[place] !== slot) {
      this.#stamps[place] = slot
      this.#counts.fill(0, place * this.#fields, (place + 1) * this.#fields)
    }
    const at = place * this.#fields + field
    this.#counts[at] = (this.#counts[at] ?? 0) + 1
  }

  /** Of the slots that reach into the window: nothing is forgotten before its time. A clock put back leaves some ahead. */
  sum(now: number, windowMs: number, field: number): number {
    const oldest = (now - windowMs) / this.#slotMs - 1
    const newest = now / this.#slotMs
    let sum = 0
    for (let place = 0; place < this.#slots; place++) {
      const stamp = this.#stamps[place] ?? -1
      if (stamp <= oldest || stamp > newest) continue
      sum += this.#counts[place * this.#fields + field] ?? 0
    }
    return sum
  }
}
