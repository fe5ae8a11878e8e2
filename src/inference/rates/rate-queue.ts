import { type Priority, priorities } from '../../formats/vocabulary.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { subsystemLog } from '../../platform/logging/subsystem-log.ts'
import type { Ticking } from '../../platform/time/coarse-timer.ts'
import { ClientDisconnectedError, ShutdownError } from '../failures/errors.ts'
import { type RefusalCause, rateUsedError } from './rate-error.ts'
import { Room } from './room.ts'
import { takeRoom } from './take-room.ts'
import type { RatedRequest, WaitingRequest, WaitingRequests } from './waiting.ts'

interface Waiter extends WaitingRequest {
  rank: number
  startedAt: number
  resolve(room: Room): void
  reject(error: Error): void
}

/**
 * The requests that wait for one endpoint with one credential: those of a higher priority first, otherwise in the order
 * of their arrival. It is served several times a second.
 */
export class RateQueue implements Ticking, WaitingRequests {
  readonly #gateway: Gateway
  readonly #id: string
  readonly #waiting: Waiter[] = []
  #isServing = false
  /** Milliseconds until there is probably room for the first. */
  #waitMs = 0

  constructor(gateway: Gateway, id: string) {
    this.#gateway = gateway
    this.#id = id
  }

  get length(): number {
    return this.#waiting.length
  }

  count(priority: Priority): number {
    return this.#waiting.filter((waiter) => waiter.priority === priority).length
  }

  hasBefore(priority: Priority): boolean {
    return this.#waiting.some(({ rank }) => rank >= rankOf(priority))
  }

  wait(request: WaitingRequest, waitMs: number): Promise<Room> {
    const { signal, priority } = request
    if (signal.aborted) return Promise.reject(new ClientDisconnectedError())
    this.#waitMs = Math.max(this.#waitMs, waitMs)
    const rank = rankOf(priority)
    const cause = this.#makeSpace(request, rank)
    if (cause) return Promise.reject(this.#refuse(request, cause, 0))
    return new Promise((resolve, reject) => {
      const leave = () => this.#remove(waiter, new ClientDisconnectedError())
      const end = () => signal.removeEventListener('abort', leave)
      const waiter: Waiter = {
        ...request,
        rank,
        startedAt: this.#gateway.timer.now(),
        resolve: (room) => {
          end()
          resolve(room)
        },
        reject: (error) => {
          end()
          reject(error)
        },
      }
      signal.addEventListener('abort', leave)
      this.#insert(waiter)
    })
  }

  tick(now: number): void {
    for (const waiter of [...this.#waiting])
      if (now - waiter.startedAt >= waiter.maxWaitMs)
        this.#remove(waiter, this.#refuse(waiter, 'timeout', now - waiter.startedAt))
    if (!this.#isServing && this.#waiting.length > 0) void this.#serve()
  }

  stop(): void {
    this.#rejectAll(() => new ShutdownError())
  }

  #rejectAll(createError: () => Error): void {
    for (const waiter of [...this.#waiting]) this.#remove(waiter, createError())
  }

  /** Lets requests pass in order, as long as there is room for the first one. */
  async #serve(): Promise<void> {
    this.#isServing = true
    try {
      for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
        const taken = await takeRoom(this.#gateway, first)
        if (!(taken instanceof Room)) {
          this.#waitMs = taken.waitMs
          break
        }
        if (!this.#take(first)) await taken.release()
        else first.resolve(taken)
      }
    } catch (err) {
      subsystemLog(this.#gateway.log, 'inference').error({ err }, 'a queue for the rate of a provider failed')
      this.#rejectAll(() => new GatewayError('unavailable', { cause: err }))
    } finally {
      this.#isServing = false
    }
  }

  /** Null once there is space; otherwise why there is none. A request of a lower priority leaves to make it. */
  #makeSpace({ keyId, priority }: WaitingRequest, rank: number): RefusalCause | null {
    const { queue_length, key_share, total_length } = this.#gateway.settings.priorities
    const own = this.#waiting.filter((waiter) => waiter.keyId === keyId)
    const ownMax = Math.max(1, Math.floor(queue_length * key_share))
    if (own.length >= ownMax && !this.#displace(own, rank)) return 'key_share'
    const isFull =
      this.#waiting.length >= queue_length || this.#gateway.upstreams.rates.waiting >= total_length
    return isFull && !this.#displace(this.#waiting, rankOf(priority)) ? 'queue_full' : null
  }

  #displace(waiting: readonly Waiter[], rank: number): boolean {
    const last = waiting.at(-1)
    if (!last || last.rank >= rank) return false
    const waitedMs = this.#gateway.timer.now() - last.startedAt
    this.#remove(last, this.#refuse(last, 'displaced', waitedMs))
    return true
  }

  #insert(waiter: Waiter): void {
    const index = this.#waiting.findIndex(({ rank }) => rank < waiter.rank)
    this.#waiting.splice(index === -1 ? this.#waiting.length : index, 0, waiter)
    if (this.#waiting.length === 1) this.#gateway.timer.add(this)
    this.#gateway.upstreams.rates.queues.set(this.#id, this)
  }

  #remove(waiter: Waiter, error: Error): void {
    if (this.#take(waiter)) waiter.reject(error)
  }

  /** False if it has left already. */
  #take(waiter: Waiter): boolean {
    const index = this.#waiting.indexOf(waiter)
    if (index === -1) return false
    this.#waiting.splice(index, 1)
    if (this.#waiting.length === 0) {
      this.#gateway.timer.remove(this)
      this.#gateway.upstreams.rates.queues.delete(this.#id)
    }
    return true
  }

  #refuse({ candidate, priority }: RatedRequest, cause: RefusalCause, waitedMs: number): Error {
    const { slug } = candidate.endpoint.provider
    this.#gateway.metrics.rates.recordRefusal({ provider: slug, priority, cause })
    return rateUsedError({ candidate, priority, cause, waitedMs, waitMs: this.#waitMs })
  }
}

function rankOf(priority: Priority): number {
  return priorities.indexOf(priority)
}
