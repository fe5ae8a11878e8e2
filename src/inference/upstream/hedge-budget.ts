/** Hedges that are always allowed at the same time, so that a quiet server can hedge at all. */
const minHedges = 3

/** Bounds how many requests are sent twice at the same time, as a share of the exchanges with upstreams. */
export class HedgeBudget {
  #open = 0

  tryOpen(exchanges: number, share: number): boolean {
    if (share === 0 || this.#open >= Math.max(minHedges, share * exchanges)) return false
    this.#open += 1
    return true
  }

  close(): void {
    this.#open -= 1
  }
}
