/** The budget of a run: each request is admitted only if its worst case still fits. */
export class Budget {
  readonly #limit: bigint | null
  #spent: bigint
  #reserved = 0n

  constructor(limit: bigint | null, spent: bigint) {
    this.#limit = limit
    this.#spent = spent
  }

  get isLimited(): boolean {
    return this.#limit !== null
  }

  get spent(): bigint {
    return this.#spent
  }

  /** False if it could exceed the limit. */
  reserve(amount: bigint): boolean {
    if (this.#limit !== null && this.#spent + this.#reserved + amount > this.#limit) return false
    this.#reserved += amount
    return true
  }

  settle(reserved: bigint, cost: bigint): void {
    this.#reserved -= reserved
    this.#spent += cost
  }
}
