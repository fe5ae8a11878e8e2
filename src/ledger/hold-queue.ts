import type { Amounts } from './amounts.ts'
import type { ExchangeOperation } from './engine.ts'
import type { HoldRequest, Limit, LimitRejection, Rejection } from './ledger-state.ts'
import { Shortages } from './shortages.ts'

/** The place of a request in the queue, and what it keeps while it waits. */
export interface QueuePlace {
  /** Its request has paid for something: it goes before those that have not. */
  hasPaid: boolean
  /** When its request began, by the monotonic clock: the oldest goes first. */
  since: number
  /** What it continues to hold while it waits, by the id of the hold. */
  retained: ReadonlyMap<string, Amounts>
  signal: AbortSignal
}

/** How long requests wait at most. One that has paid for something loses it when it is rejected. */
const maxWaitMs = { unpaid: 30_000, paid: 120_000 }
/** Other nodes settle requests too, and windows begin. */
const pollIntervalMs = 250
/** More requests are rejected at once. */
const maxLength = 10_000

interface Waiter extends QueuePlace {
  op: ExchangeOperation
  deadline: number
  /** The limit that rejected it last. */
  rejection: LimitRejection | null
  isTrying: boolean
  end: (result: Rejection | null) => void
  fail: (reason: unknown) => void
}

/**
 * Requests that wait for the holds of others to be settled. Waiting cannot deadlock: a request that has paid for
 * nothing holds nothing meanwhile, and one that has keeps no more than it has paid.
 */
export class HoldQueue {
  readonly #exchange: (op: ExchangeOperation) => Promise<Rejection | null>
  /** In the order in which they are served. */
  #waiters: Waiter[] = []
  #isRunning = false
  #isStale = false
  #timer: Timer | null = null
  readonly shortages = new Shortages()

  constructor(exchange: (op: ExchangeOperation) => Promise<Rejection | null>) {
    this.#exchange = exchange
  }

  get length(): number {
    return this.#waiters.length
  }

  /** At once. Null when it is committed, or the limit that it exceeds: then nothing changed. */
  exchange(op: ExchangeOperation): Promise<Rejection | null> {
    this.setAside(op.admits[0]?.request)
    return this.#exchange(op)
  }

  /** Resolves when the exchange is committed, or with the limit that it exceeds. Rejects when the signal aborts. */
  wait(op: ExchangeOperation, place: QueuePlace): Promise<Rejection | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Rejection | null>()
    const { signal, hasPaid } = place
    // The queue itself keeps the order.
    for (const { request } of op.admits) request.setAside = undefined
    const deadline =
      performance.now() + (this.length >= maxLength ? 0 : hasPaid ? maxWaitMs.paid : maxWaitMs.unpaid)
    const abort = () => {
      // An attempt in progress may still place the holds: its end decides.
      if (!waiter.isTrying) waiter.fail(signal.reason)
    }
    const leave = () => {
      signal.removeEventListener('abort', abort)
      this.#waiters = this.#waiters.filter((other) => other !== waiter)
    }
    const waiter: Waiter = {
      ...place,
      op,
      deadline,
      rejection: null,
      isTrying: false,
      end: (result) => {
        leave()
        resolve(result)
      },
      fail: (reason) => {
        leave()
        reject(reason)
      },
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#waiters = [...this.#waiters, waiter].sort(compareWaiters)
    if (signal.aborted) abort()
    this.wake()
    return promise
  }

  /** Called when holds were released. */
  wake(): void {
    if (this.#waiters.length === 0) return
    this.#isStale = true
    if (!this.#isRunning) void this.#run()
  }

  /** A new request does not overtake the first that waits for the same limit. */
  setAside(request: HoldRequest | undefined): void {
    if (!request || this.#waiters.length === 0) return
    const setAside = new Map<string, bigint>()
    for (const { op, rejection, retained } of this.#waiters) {
      const subject = rejection?.limit.subject
      if (!rejection || subject === undefined || setAside.has(subject)) continue
      const own = op.releases.reduce((sum, id) => sum + countsTowards(rejection.limit, retained.get(id)), 0n)
      setAside.set(subject, rejection.needed - own)
    }
    if (setAside.size > 0) request.setAside = setAside
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isStale) {
      this.#isStale = false
      await this.#tryEach()
    }
    this.#isRunning = false
    if (this.#waiters.length === 0) return
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.wake()
    }, pollIntervalMs).unref()
  }

  /** In order. Those behind one that has to wait for a limit do not overtake it there. */
  async #tryEach(): Promise<void> {
    const blocked = new Set<string>()
    for (const waiter of this.#waiters) {
      const limits = waiter.op.admits[0]?.request.limits ?? []
      const isBlocked = limits.some(({ subject }) => blocked.has(subject))
      if (isBlocked && performance.now() < waiter.deadline) continue
      const rejection = await this.#try(waiter)
      if (rejection) blocked.add(rejection.limit.subject)
    }
  }

  /** The limit that it continues to wait for; null if it does not wait any longer. */
  async #try(waiter: Waiter): Promise<LimitRejection | null> {
    if (!this.#waiters.includes(waiter)) return null
    waiter.isTrying = true
    try {
      const rejection = await this.#exchange(waiter.op)
      if (rejection && waiter.signal.aborted) throw waiter.signal.reason
      if (rejection && this.#mayWait(waiter, rejection)) {
        waiter.rejection = rejection
        return rejection
      }
      waiter.end(rejection)
    } catch (error) {
      waiter.fail(error)
    } finally {
      waiter.isTrying = false
    }
    return null
  }

  #mayWait(waiter: Waiter, rejection: Rejection): rejection is LimitRejection {
    return canBeSettled(rejection) && performance.now() < waiter.deadline && !this.#isStuck(waiter, rejection)
  }

  /** Whether all that is held is what requests in the queue have paid: no settlement makes it available. */
  #isStuck(waiter: Waiter, { limit, held }: LimitRejection): boolean {
    const retained = new Map<string, Amounts>()
    for (const other of this.#waiters)
      if (other !== waiter && other.op.admits[0]?.request.subjects.includes(limit.subject))
        for (const [id, amounts] of other.retained) retained.set(id, amounts)
    for (const id of waiter.op.releases) retained.delete(id)
    let sum = 0n
    for (const amounts of retained.values()) sum += countsTowards(limit, amounts)
    return held <= sum
  }
}

/** Whether the holds of other requests are all that stands in the way. */
export function canBeSettled(rejection: Rejection): rejection is LimitRejection {
  return rejection.reason === 'limit' && rejection.needed <= rejection.attainable
}

function compareWaiters(a: Waiter, b: Waiter): number {
  return Number(b.hasPaid) - Number(a.hasPaid) || a.since - b.since
}

function countsTowards({ includeByok }: Limit, amounts: Amounts | undefined): bigint {
  return amounts ? amounts.amount + (includeByok ? amounts.byok : 0n) : 0n
}
