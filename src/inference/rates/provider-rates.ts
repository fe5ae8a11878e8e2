import { LearnedRates } from './learned-rates.ts'
import type { WaitingRequests } from './waiting.ts'

/** What this process knows about the rates of providers, and the requests that wait for them. */
export class ProviderRates {
  /** Its `has` is the only cost for a request to an endpoint without a known rate. */
  readonly learned = new LearnedRates()
  /** By the id of the candidate; one that is empty is removed. */
  readonly queues = new Map<string, WaitingRequests>()

  /** The requests that wait. */
  get waiting(): number {
    let sum = 0
    for (const { length } of this.queues.values()) sum += length
    return sum
  }

  /** Ends all waits because of a shutdown. */
  stop(): void {
    for (const queue of [...this.queues.values()]) queue.stop()
  }
}
