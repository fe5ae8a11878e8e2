/** A table of more would take too much memory. */
const maxTableSize = 2 ** 22

/** Computes an integer for each number once. A table is several times as fast as a map while numbers are small. */
export class NumberMemo {
  readonly #compute: (number: number) => number
  /** One more than the result; 0 for none. */
  #table = new Int32Array(1024)
  readonly #others = new Map<number, number>()

  constructor(compute: (number: number) => number) {
    this.#compute = compute
  }

  get(number: number): number {
    const known = this.#table[number]
    return known === undefined || known === 0 ? this.#add(number) : known - 1
  }

  #add(number: number): number {
    const other = this.#others.get(number)
    if (other !== undefined) return other
    const result = this.#compute(number)
    if (number >= maxTableSize) this.#others.set(number, result)
    else {
      if (number >= this.#table.length) this.#grow(number + 1)
      this.#table[number] = result + 1
    }
    return result
  }

  #grow(size: number): void {
    const larger = new Int32Array(Math.min(size * 2, maxTableSize))
    larger.set(this.#table)
    this.#table = larger
  }
}
