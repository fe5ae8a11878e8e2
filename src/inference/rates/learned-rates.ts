import { LearnedRate, type ReportedRate } from './learned-rate.ts'

/** Endpoints with a credential whose rates are remembered; those that were learned of first are forgotten. */
const maxLearned = 10_000

/** The rates that providers have reported, by the id of the candidate. */
export class LearnedRates extends Map<string, LearnedRate> {
  learn(id: string, rates: readonly ReportedRate[], now: number): void {
    if (rates.length === 0) return
    const rate = this.get(id) ?? this.#insert(id)
    rate.learn(rates, now)
  }

  #insert(id: string): LearnedRate {
    const rate = new LearnedRate()
    this.set(id, rate)
    if (this.size > maxLearned) this.delete(this.keys().next().value ?? '')
    return rate
  }
}
