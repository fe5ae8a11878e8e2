import type { Limit } from './ledger-state.ts'

/** A limit with too little available for the steps of a request. */
export interface Shortage {
  limit: Limit
  /** Amount that all steps need. */
  needed: bigint
  available: bigint
}

/** The limits that are remembered, and the plans of each. */
const maxSubjects = 1000
const maxPlans = 8
const maxAgeMs = 60_000

interface Experience {
  /** Amount that is known to be too little. */
  available: bigint
  at: number
}

/**
 * Amounts that were too little for requests that could not hold all of their steps. At the end of a limit, the next
 * request with as many steps is rejected before it pays for anything, instead of after.
 */
export class Shortages {
  /** Shortages by the subject of the limit, and by the amount that all steps needed. */
  readonly #bySubject = new Map<string, Map<bigint, Experience>>()

  add({ limit, needed, available }: Shortage): void {
    if (this.#bySubject.size >= maxSubjects) this.#bySubject.clear()
    const plans = this.#bySubject.get(limit.subject) ?? new Map<bigint, Experience>()
    if (plans.size >= maxPlans) plans.clear()
    plans.set(needed, { available, at: performance.now() })
    this.#bySubject.set(limit.subject, plans)
  }

  isRepeated({ limit, needed, available }: Shortage): boolean {
    const since = performance.now() - maxAgeMs
    for (const [plan, known] of this.#bySubject.get(limit.subject) ?? [])
      if (plan <= needed && available <= known.available && known.at >= since) return true
    return false
  }
}
