import { type Amounts, addAmounts, noAmounts, subtractAmounts } from './amounts.ts'
import type { ExchangeOperation } from './engine.ts'
import type { HoldRequest, Limit, LimitRejection, Rejection } from './ledger-state.ts'
import { Shortages } from './shortages.ts'

/** The place of a request in the queue, and what it keeps while it waits. */
export interface QueuePlace {
  /** Places its holds with `exchangeInTurn`; returns the limit that they exceed. */
  attempt: () => Promise<Rejection | null>
  limits: readonly Limit[]
  /** Whether the request has paid for something: it goes before those that have not. */
  hasPaid: boolean
  /** Start of the request, by the monotonic clock: the oldest goes first. */
  since: number
  /** The amounts that it holds now; they are also in `retained` of the queue. */
  held: () => Amounts
  signal: AbortSignal
  /** Called when it stops waiting, before the next is tried. */
  onEnd: () => void
}

/** Maximum waits. A request that has paid for something loses it when it is rejected. */
const maxWaitMs = { unpaid: 30_000, paid: 120_000 }
/** Other nodes settle requests too, and windows begin. */
const pollIntervalMs = 250
/** Maximum waiters; further requests are rejected at once. */
const maxLength = 10_000

interface Waiter {
  readonly place: QueuePlace
  readonly deadline: number
  /** The limit that rejected it last. */
  rejection: LimitRejection | null
  isTrying: boolean
  hasEnded: boolean
  end: (result: Rejection | null) => void
  fail: (reason: unknown) => void
}

/** Amounts that waiting requests continue to hold, by the subject of the meters they count in. */
class RetainedAmounts {
  readonly #bySubject = new Map<string, Amounts>()

  get(subject: string): Amounts {
    return this.#bySubject.get(subject) ?? noAmounts
  }

  add(subjects: readonly string[], amounts: Amounts): void {
    for (const subject of subjects) this.#bySubject.set(subject, addAmounts(this.get(subject), amounts))
  }

  remove(subjects: readonly string[], amounts: Amounts): void {
    for (const subject of subjects) {
      const rest = subtractAmounts(this.get(subject), amounts)
      if (rest.amount > 0n || rest.byok > 0n) this.#bySubject.set(subject, rest)
      else this.#bySubject.delete(subject)
    }
  }
}

/**
 * Requests that wait for the holds of others to be settled. Waiting cannot deadlock: a request that has paid for
 * nothing holds nothing meanwhile, and one that has keeps no more than it has paid. A pass takes time in proportion to
 * the requests that wait, and a new hold takes the same time however many wait.
 */
export class HoldQueue {
  readonly #exchange: (op: ExchangeOperation) => Promise<Rejection | null>
  /**
   * Waiters in the order in which they are served; replaced, never mutated. Waiters that have ended are removed later.
   */
  #waiters: readonly Waiter[] = []
  #length = 0
  /** The first that waits for a limit, by its subject. */
  readonly #first = new Map<string, Waiter>()
  #isRunning = false
  #isStale = false
  #timer: Timer | null = null
  readonly retained = new RetainedAmounts()
  readonly shortages = new Shortages()

  constructor(exchange: (op: ExchangeOperation) => Promise<Rejection | null>) {
    this.#exchange = exchange
  }

  get length(): number {
    return this.#length
  }

  /**
   * Exchanges holds without waiting. Resolves with null when committed, or the exceeded limit: then nothing changed.
   */
  exchange(op: ExchangeOperation): Promise<Rejection | null> {
    this.setAside(op.admits[0]?.request)
    return this.#exchange(op)
  }

  /** Exchanges holds of a request in the queue, whose turn it is: nothing is set aside for others. */
  exchangeInTurn(op: ExchangeOperation): Promise<Rejection | null> {
    for (const { request } of op.admits) request.setAside = undefined
    return this.#exchange(op)
  }

  /** Resolves when an attempt succeeded, or with the limit that it exceeds. Rejects when the signal aborts. */
  wait(place: QueuePlace): Promise<Rejection | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Rejection | null>()
    const { signal } = place
    const abort = () => {
      // An attempt in progress may still place the holds: its end decides.
      if (!waiter.isTrying) waiter.fail(signal.reason)
    }
    const leave = () => {
      signal.removeEventListener('abort', abort)
      this.#remove(waiter)
    }
    const waiter: Waiter = {
      place,
      deadline: performance.now() + this.#computeWaitMs(place),
      rejection: null,
      isTrying: false,
      hasEnded: false,
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
    this.#insert(waiter)
    if (signal.aborted) abort()
    this.wake()
    return promise
  }

  #computeWaitMs({ hasPaid }: QueuePlace): number {
    if (this.length >= maxLength) return 0
    return hasPaid ? maxWaitMs.paid : maxWaitMs.unpaid
  }

  /** Called when holds were released. */
  wake(): void {
    if (this.#length === 0) return
    this.#isStale = true
    if (!this.#isRunning) void this.#run()
  }

  /** A new request does not overtake the first that waits for the same limit. */
  setAside(request: HoldRequest | undefined): void {
    if (!request) return
    // A request that is tried again may have what others waited for before.
    request.setAside = undefined
    if (this.#first.size === 0) return
    const setAside = new Map<string, bigint>()
    for (const { subject } of request.limits) {
      const { rejection, place } = this.#first.get(subject) ?? {}
      if (rejection && place)
        setAside.set(subject, rejection.needed - countsToward(rejection.limit, place.held()))
    }
    if (setAside.size > 0) request.setAside = setAside
  }

  #insert(waiter: Waiter): void {
    let low = 0
    for (let high = this.#waiters.length; low < high; ) {
      const middle = (low + high) >> 1
      const other = this.#waiters[middle]
      if (other && comparePlaces(other.place, waiter.place) <= 0) low = middle + 1
      else high = middle
    }
    this.#waiters = this.#waiters.toSpliced(low, 0, waiter)
    this.#length++
  }

  #remove(waiter: Waiter): void {
    if (waiter.hasEnded) return
    waiter.hasEnded = true
    this.#length--
    this.#setRejection(waiter, null)
    waiter.place.onEnd()
    if (this.#waiters.length > 2 * this.#length) this.#removeEnded()
  }

  #removeEnded(): void {
    this.#waiters = this.#waiters.filter(({ hasEnded }) => !hasEnded)
  }

  #setRejection(waiter: Waiter, rejection: LimitRejection | null): void {
    const before = waiter.rejection?.limit.subject
    if (before !== undefined && this.#first.get(before) === waiter) this.#first.delete(before)
    waiter.rejection = rejection
    if (rejection) this.#first.set(rejection.limit.subject, waiter)
  }

  async #run(): Promise<void> {
    this.#isRunning = true
    while (this.#isStale) {
      this.#isStale = false
      await this.#tryEach()
    }
    this.#isRunning = false
    if (this.#length === 0) return
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.wake()
    }, pollIntervalMs).unref()
  }

  /** Tries the waiters in order. None overtakes an earlier one that waits for the same limit. */
  async #tryEach(): Promise<void> {
    const blocked = new Set<string>()
    for (const waiter of this.#waiters) {
      if (waiter.hasEnded) continue
      const isBlocked = blocked.size > 0 && waiter.place.limits.some(({ subject }) => blocked.has(subject))
      if (isBlocked && performance.now() < waiter.deadline) continue
      const rejection = await this.#try(waiter)
      if (rejection) blocked.add(rejection.limit.subject)
    }
  }

  /** The limit that it continues to wait for; null if it does not wait any longer. */
  async #try(waiter: Waiter): Promise<LimitRejection | null> {
    const { attempt, signal } = waiter.place
    waiter.isTrying = true
    try {
      const rejection = await attempt()
      if (rejection && signal.aborted) throw signal.reason
      if (rejection && this.#mayWait(waiter, rejection)) {
        this.#setRejection(waiter, rejection)
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

  #mayWait({ place, deadline }: Waiter, rejection: Rejection): rejection is LimitRejection {
    return canBeSettled(rejection) && performance.now() < deadline && !this.#isStuck(place, rejection)
  }

  /** Whether all that is held is what requests in the queue have paid: no settlement makes it available. */
  #isStuck({ held: ownHeld }: QueuePlace, { limit, held }: LimitRejection): boolean {
    const retained = countsToward(limit, this.retained.get(limit.subject))
    return held <= retained - countsToward(limit, ownHeld())
  }
}

/** Whether the holds of other requests are all that stands in the way. */
export function canBeSettled(rejection: Rejection): rejection is LimitRejection {
  return rejection.reason === 'limit' && !rejection.isFinal && rejection.needed <= rejection.attainable
}

/** Whether waiting cannot help. */
export function isFinal(rejection: Rejection): boolean {
  return rejection.reason === 'rate' || rejection.isFinal === true
}

function comparePlaces(a: QueuePlace, b: QueuePlace): number {
  return Number(b.hasPaid) - Number(a.hasPaid) || a.since - b.since
}

function countsToward({ includeByok }: Limit, amounts: Amounts): bigint {
  return amounts.amount + (includeByok ? amounts.byok : 0n)
}
