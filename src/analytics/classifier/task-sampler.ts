/** Classifying a prompt takes a fraction of a millisecond, so a busy process classifies fewer of its requests. */
const perSecond = 4
const maxBurst = 100

/** Chooses the requests that are classified, and how many requests each of them stands for. */
export class TaskSampler {
  #available = maxBurst
  #refilledAt = 0
  /** Requests since the last one that was chosen. */
  #passed = 0

  /** The weight of this request; null if it is not classified. */
  choose(id: string, oneIn: number, nowMs: number): number | null {
    // By the id, so that every settlement of a request decides alike.
    if (oneIn === 0 || Bun.hash.crc32(id) % oneIn !== 0) return null
    this.#passed++
    this.#refill(nowMs)
    if (this.#available < 1) return null
    this.#available--
    const weight = this.#passed * oneIn
    this.#passed = 0
    return weight
  }

  #refill(nowMs: number): void {
    const added = ((nowMs - this.#refilledAt) * perSecond) / 1000
    this.#available = Math.min(maxBurst, this.#available + added)
    this.#refilledAt = nowMs
  }
}
