import type { Cluster, Take, WindowRule } from '../../cluster/cluster.ts'
import { locateInWindow, type WindowPosition } from '../../governance/limits/window.ts'
import type { LearnedRate } from './learned-rate.ts'
import { noUse, type RateMeasure, type RateUse } from './rate-use.ts'

/** An amount that was counted in the window of a declared rate. */
export interface CountedRate {
  name: string
  measure: RateMeasure
  amount: number
  take: Take
  position: WindowPosition
}

/** A correction is counted even beyond the limit. */
const unlimited = Number.MAX_SAFE_INTEGER

export function countInWindow(
  cluster: Cluster,
  name: string,
  amount: number,
  limit: number,
  { windowMs, kind, now }: WindowPosition,
): Take | Promise<Take> {
  const rule: WindowRule = { limit, windowMs, kind }
  return cluster.take(name, amount, rule, now)
}

export function locateInMinute(now: number): WindowPosition {
  return locateInWindow('minute', now)
}

interface Occupied {
  learned: LearnedRate | null
  counted: readonly CountedRate[]
  /** Milliseconds of a clock that is never adjusted. */
  sentAt: number
}

/** What one attempt occupies of the known rates of an endpoint. */
export class Room {
  readonly #cluster: Cluster
  readonly #use: RateUse
  readonly #counted: readonly CountedRate[]
  #learned: LearnedRate | null
  readonly #sentAt: number
  #isSettled = false

  /** The use is pending in `learned` already, since `sentAt`. */
  constructor(cluster: Cluster, use: RateUse, { learned, counted, sentAt }: Occupied) {
    this.#cluster = cluster
    this.#use = use
    this.#learned = learned
    this.#counted = counted
    this.#sentAt = sentAt
  }

  /** The provider has replied, or will not: it is no longer pending. */
  observe(): void {
    this.#learned?.subtract(this.#use, this.#sentAt)
    this.#learned = null
  }

  /** Counts what was used instead of what was estimated. The first call counts. */
  async settle(used: RateUse): Promise<void> {
    this.observe()
    if (this.#isSettled) return
    this.#isSettled = true
    for (const counted of this.#counted) await this.#correct(counted, used[counted.measure])
  }

  /** Nothing was sent. */
  release(): Promise<void> {
    return this.settle(noUse)
  }

  async #correct({ name, amount, take, position }: CountedRate, used: number): Promise<void> {
    if (used < amount) await this.#cluster.refund(name, amount - used, take, position.windowMs)
    else if (used > amount) await countInWindow(this.#cluster, name, used - amount, unlimited, position)
  }
}
