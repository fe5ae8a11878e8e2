import { byokPrefix } from '../../catalog/health/health-id.ts'
import { LearnedRate, type ReportedRate } from './learned-rate.ts'

/** Endpoints with a credential whose rates are remembered; those that were learned of first are forgotten. */
const maxLearned = 10_000
/** Of these, the endpoints with BYOK keys, of which there can be many: they displace only one another. */
const maxByok = 2000

/** The rates that providers have reported, by the id of the candidate. */
export class LearnedRates extends Map<string, LearnedRate> {
  readonly #byok = new Set<string>()

  learn(id: string, rates: readonly ReportedRate[], now: number): void {
    if (rates.length === 0) return
    const rate = this.get(id) ?? this.#insert(id)
    rate.learn(rates, now)
  }

  #insert(id: string): LearnedRate {
    const rate = new LearnedRate()
    this.set(id, rate)
    if (id.startsWith(byokPrefix)) this.#insertByok(id)
    else if (this.size - this.#byok.size > maxLearned - maxByok) this.#forgetFirst()
    return rate
  }

  #insertByok(id: string): void {
    this.#byok.add(id)
    if (this.#byok.size <= maxByok) return
    const first = this.#byok.values().next().value ?? ''
    this.#byok.delete(first)
    this.delete(first)
  }

  #forgetFirst(): void {
    for (const id of this.keys())
      if (!this.#byok.has(id)) {
        this.delete(id)
        return
      }
  }
}
