import type { Logger } from 'pino'
import type { Db } from '../../platform/db/db.ts'
import { rateLimitError, unavailableError } from '../../platform/errors/gateway-error.ts'
import type { Clock } from '../../platform/time/clock.ts'
import type { CoarseTimer } from '../../platform/time/coarse-timer.ts'
import { RequestTail, type TailBatch } from './tail.ts'

/** Limits on this node. */
export const maxFollowersPerCaller = 5
export const maxFollowersPerOrganization = 100
const maxFollowers = 300
const pollMs = 1000

/** Reads the list of requests as it grows. */
export interface Follower {
  callerId: string
  organizationId: string
  /** Called every second. Must not throw. */
  receive(batch: TailBatch): Promise<void>
  /** The node stops. */
  end(): void
}

/** One query a second for all who follow the list, and none while the list has no followers. */
export class RequestFollowers {
  readonly #deps: { db: Db; clock: Clock; timer: CoarseTimer; log: Logger }
  readonly #followers = new Set<Follower>()
  #isRunning = false
  #isClosed = false

  constructor(deps: { db: Db; clock: Clock; timer: CoarseTimer; log: Logger }) {
    this.#deps = deps
  }

  /** Throws if there are too many, or if the node stops. */
  add(follower: Follower): void {
    if (this.#isClosed) throw unavailableError()
    const limit = this.#findReachedLimit(follower)
    if (limit !== null) {
      const message = `At most ${maxFollowersPerCaller} streams of requests can be open for each caller, ${maxFollowersPerOrganization} for an organization, and ${maxFollowers} in all. Close one, and try again.`
      throw rateLimitError(message, limit, pollMs, this.#deps.clock.now())
    }
    this.#followers.add(follower)
    if (!this.#isRunning) void this.#run()
  }

  #findReachedLimit({ callerId, organizationId }: Follower): number | null {
    const open = [...this.#followers]
    const ofOrganization = open.filter((other) => other.organizationId === organizationId)
    const ofCaller = ofOrganization.filter((other) => other.callerId === callerId)
    if (ofCaller.length >= maxFollowersPerCaller) return maxFollowersPerCaller
    if (ofOrganization.length >= maxFollowersPerOrganization) return maxFollowersPerOrganization
    return open.length >= maxFollowers ? maxFollowers : null
  }

  /** Ends all, for a node that stops: another one serves them when they connect again. */
  close(): void {
    this.#isClosed = true
    for (const follower of [...this.#followers]) follower.end()
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    const { db, clock, timer, log } = this.#deps
    const tail = new RequestTail(db, clock)
    while (this.#followers.size > 0) {
      await timer.wait(new Promise<never>(() => undefined), pollMs)
      const followers = [...this.#followers]
      const organizationIds = [...new Set(followers.map(({ organizationId }) => organizationId))]
      if (organizationIds.length === 0) break
      try {
        const batch = await tail.read(organizationIds)
        await Promise.all(followers.map((follower) => follower.receive(batch)))
      } catch (err) {
        log.warn({ err }, 'failed to read new requests')
      }
    }
    this.#isRunning = false
  }
}
