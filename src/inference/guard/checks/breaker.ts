/** Failures in a row after which a service is not called for a while. */
const maxFailures = 5
const restMs = 10_000

/** Keeps calls from a service that does not answer: after a rest, one call tries it again. */
export class Breaker {
  #failures = 0
  #openUntil = 0

  /** Whether a call may be made now. */
  tryPass(now: number): boolean {
    if (this.#failures < maxFailures) return true
    if (now < this.#openUntil) return false
    this.#openUntil = now + restMs
    return true
  }

  recordSuccess(): void {
    this.#failures = 0
  }

  recordFailure(now: number): void {
    this.#failures++
    if (this.#failures >= maxFailures) this.#openUntil = now + restMs
  }
}
