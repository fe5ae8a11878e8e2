import {
  type Amounts,
  addAmounts,
  coversAmounts,
  isNothing,
  noAmounts,
  positive,
  subtractAmounts,
} from './amounts.ts'
import { addToCounter, countFreeInMinute, isSameMinute, type Meter, moveToDay, type Window } from './meter.ts'

export type LimitKind = 'credits' | 'key' | 'member' | 'workspace' | 'guardrail' | 'limit'

/** An amount that must not be exceeded. */
export interface Limit {
  kind: LimitKind
  subject: string
  window: Window
  includeByok: boolean
  amount: bigint
  /** The name of a declared limit. */
  name?: string
}

/** The rate limit of a subject for free variants. */
export interface FreeLimit {
  subject: string
  minute: string
  perMinute: number
  perDay: number
}

/** The amounts to hold for a request. */
export interface HoldRequest extends Amounts {
  id: string
  /** The meters it counts in. */
  subjects: readonly string[]
  day: string
  /** Limits in the order in which they are checked. */
  limits: readonly Limit[]
  free: FreeLimit | null
  /** Its settlement may leave some of its meters uncharged. */
  isConditional?: boolean
  /** Amounts that other requests wait for, by the subject of the limit: they are not available to this request. */
  setAside?: ReadonlyMap<string, bigint> | undefined
  /** Called when an exchange fits all limits: it may still be rejected, and then nothing is held or counted. */
  review?: (nearest: NearestLimit) => Rejection | null
  /** Set on admission. */
  nearest?: NearestLimit
}

/** The limit of which a hold leaves the least. */
export interface NearestLimit {
  limit: Limit
  /** Amount available before the hold. */
  available: bigint
  needed: bigint
}

export interface Hold extends Amounts {
  id: string
  subjects: readonly string[]
  /** The day the request began. It counts on that day, whenever it is settled. */
  day: string
}

/** The state of a limit, and whether a request fits into it. */
export interface LimitStatus {
  needed: bigint
  spent: bigint
  held: bigint
  available: bigint
  fits: boolean
}

export function evaluateLimit(
  { kind, window, includeByok, amount: max }: Limit,
  meter: Meter,
  { amount, byok }: Amounts,
): LimitStatus {
  const needed = amount + (includeByok ? byok : 0n)
  const spent = meter.spent[window] + (includeByok ? meter.byok[window] : 0n)
  const held = meter.held[window] + (includeByok ? meter.heldByok[window] : 0n)
  const available = max - spent - held
  // A request that costs nothing is rejected only when the balance is negative.
  const fits = needed === 0n ? kind !== 'credits' || max >= spent : needed <= available
  return { needed, spent, held, available: available < 0n ? 0n : available, fits }
}

/** A limit that a request exceeds. */
export interface LimitRejection {
  reason: 'limit'
  kind: LimitKind
  window: Window
  available: bigint
  needed: bigint
  /** Amount of the limit that the holds of other requests reserve. */
  held: bigint
  /** Amount that would be available without these holds. */
  attainable: bigint
  limit: Limit
  /** Set if no settlement of other requests can help. */
  isFinal?: true
}

export type Rejection = LimitRejection | { reason: 'rate'; per: 'minute' | 'day'; limit: number }

/** The result of replacing holds. */
interface Exchange {
  rejection: Rejection | null
  isChanged: boolean
  /** The holds that were replaced. */
  released: readonly Hold[]
}

/** What a node did within its lease. */
export interface LeaseUse {
  /** Holds that the lease covered until now. */
  placed: readonly Hold[]
  /** Holds placed before, and what was spent on them. */
  closed: readonly { id: string; spent: Amounts }[]
  /** Spent on holds that were never placed. */
  spent: Amounts
  /** No longer reserved. */
  returned: Amounts
}

/** An amount that a node wants to hold without the database. */
export interface LeaseRequest {
  id: string
  subjects: readonly string[]
  day: string
  limits: readonly Limit[]
  wanted: Amounts
  /** Less than this is not worth a lease. */
  minimum: Amounts
}

/** A lease takes at most this part of what its tightest limit leaves, so that other nodes and keys have theirs. */
const leaseShare = 16n

const noSubjects: readonly string[] = []

function findRejection(limit: Limit, status: LimitStatus, setAside = 0n): LimitRejection | null {
  const { needed, spent, held } = status
  const available = status.available > setAside ? status.available - setAside : 0n
  if (status.fits && (needed === 0n || needed <= available)) return null
  const { kind, window, amount } = limit
  return { reason: 'limit', kind, window, available, needed, held, attainable: amount - spent, limit }
}

/**
 * The accounting rules, without a clock or a database: both engines load the meters and holds that an
 * operation touches, and get the same result.
 */
export class LedgerState {
  readonly meters = new Map<string, Meter>()
  readonly holds = new Map<string, Hold>()

  /** Holds what a request may cost at most, in every meter at once, or returns the limit it exceeds. */
  admit(request: HoldRequest): Rejection | null {
    // A retry of an admission whose result was lost.
    if (this.holds.has(request.id)) return null
    const { id, subjects, day, amount, byok, free } = request
    for (const subject of subjects) {
      const meter = this.#getMeter(subject)
      if (meter.day !== day) moveToDay(meter, day)
    }
    const rejection = this.#checkLimits(request) ?? (free && this.#checkFreeRate(free))
    if (rejection) return rejection
    this.#place({ id, subjects, day, amount, byok })
    if (free) this.#countFreeRequest(free)
    return null
  }

  /** Replaces holds of a request by others, or changes nothing. The limits apply to the sum of the others. */
  exchange(releases: readonly string[], requests: readonly HoldRequest[]): Exchange {
    // A retry of an exchange whose result was lost.
    if (requests.some(({ id }) => this.holds.has(id)))
      return { rejection: null, isChanged: false, released: [] }
    const released = releases.flatMap((id) => this.settle(id, { amount: 0n, byok: 0n }) ?? [])
    const rejection = this.#checkTogether(requests, released)
    if (rejection) for (const hold of released) this.#place(hold)
    else for (const request of requests) this.admit({ ...request, limits: [] })
    return { rejection, isChanged: rejection === null, released }
  }

  /**
   * Checks the limits for the sum of the requests. Amounts that were released may be held again on the same day,
   * whatever the limits are now.
   */
  #checkTogether(requests: readonly HoldRequest[], released: readonly Hold[]): Rejection | null {
    const [first] = requests
    if (!first) return null
    for (const { subjects, day } of requests)
      for (const subject of subjects) moveToDay(this.#getMeter(subject), day)
    const together = { ...first, ...addAmounts(...requests) }
    const isSameDay = [...requests, ...released].every(({ day }) => day === first.day)
    const isCovered = isSameDay && coversAmounts(addAmounts(...released), together)
    const rejection =
      (isCovered ? null : this.#checkLimits(together)) ?? (first.free && this.#checkFreeRate(first.free))
    if (!together.nearest) return rejection
    first.nearest = together.nearest
    return rejection ?? first.review?.(together.nearest) ?? null
  }

  #place(hold: Hold): void {
    this.holds.set(hold.id, hold)
    for (const subject of hold.subjects) {
      const meter = this.#getMeter(subject)
      addToCounter(meter, 'held', hold.day, hold.amount)
      addToCounter(meter, 'heldByok', hold.day, hold.byok)
    }
  }

  /** Replaces a hold by what was spent. Null when it was settled before, and then nothing changes. */
  settle(id: string, spent: Amounts, uncharged: readonly string[] = noSubjects): Hold | null {
    const hold = this.holds.get(id)
    if (!hold) return null
    this.holds.delete(id)
    const { subjects, day } = hold
    const released = -hold.amount
    const releasedByok = -hold.byok
    for (const subject of subjects) {
      const meter = this.#getMeter(subject)
      addToCounter(meter, 'held', day, released)
      addToCounter(meter, 'heldByok', day, releasedByok)
      if (uncharged.includes(subject)) continue
      addToCounter(meter, 'spent', day, spent.amount)
      addToCounter(meter, 'byok', day, spent.byok)
    }
    return hold
  }

  /** Changes what was spent on a request that is already settled. */
  correct({ subjects, day }: Pick<Hold, 'subjects' | 'day'>, difference: Amounts): void {
    for (const subject of subjects) {
      const meter = this.#getMeter(subject)
      addToCounter(meter, 'spent', day, difference.amount)
      addToCounter(meter, 'byok', day, difference.byok)
    }
  }

  /** Reserves an amount for a lease, besides what it has; nothing if the limits leave too little. */
  grantLease({ id, subjects, day, limits, wanted, minimum }: LeaseRequest): Amounts {
    for (const subject of subjects) moveToDay(this.#getMeter(subject), day)
    let { amount, byok } = wanted
    for (const limit of limits) {
      const share = evaluateLimit(limit, this.#getMeter(limit.subject), noAmounts).available / leaseShare
      if (amount > share) amount = share
      if (limit.includeByok && byok > share - amount) byok = share - amount
    }
    const granted = { amount, byok }
    if (isNothing(granted) || !coversAmounts(granted, minimum)) return noAmounts
    const held = this.settle(id, noAmounts) ?? noAmounts
    this.#place({ id, subjects, day, ...addAmounts(held, granted) })
    return granted
  }

  /** Replaces the part of a lease that was used; returns what is left of it. Null when there is no such lease. */
  useLease(id: string, { placed, closed, spent, returned }: LeaseUse): Hold | null {
    const lease = this.settle(id, noAmounts)
    if (!lease) return null
    this.correct(lease, spent)
    let used = addAmounts(spent, returned, ...placed)
    for (const hold of placed) this.#place(hold)
    let released = noAmounts
    for (const settled of closed) {
      const hold = this.settle(settled.id, settled.spent)
      if (hold) released = addAmounts(released, subtractAmounts(hold, settled.spent))
    }
    used = { amount: used.amount - released.amount, byok: used.byok - released.byok }
    const rest = {
      ...lease,
      amount: positive(lease.amount - used.amount),
      byok: positive(lease.byok - used.byok),
    }
    this.#place(rest)
    return rest
  }

  /** The limit that leaves the least. */
  findNearest(limits: readonly Limit[]): NearestLimit | null {
    let nearest: NearestLimit | null = null
    for (const limit of limits) {
      const { available } = evaluateLimit(limit, this.#getMeter(limit.subject), noAmounts)
      if (!nearest || available < nearest.available) nearest = { limit, available, needed: 0n }
    }
    return nearest
  }

  #getMeter(subject: string): Meter {
    const meter = this.meters.get(subject)
    if (!meter) throw new Error(`no meter was loaded for ${subject}`)
    return meter
  }

  #checkLimits(request: HoldRequest): Rejection | null {
    let nearest: NearestLimit | undefined
    let least = 0n
    for (const limit of request.limits) {
      const status = evaluateLimit(limit, this.#getMeter(limit.subject), request)
      const rejection = findRejection(limit, status, request.setAside?.get(limit.subject))
      if (rejection) return rejection
      const { needed, available } = status
      const left = available - needed
      if (nearest && left >= least) continue
      nearest = { limit, available, needed }
      least = left
    }
    if (nearest) request.nearest = nearest
    return null
  }

  #checkFreeRate(free: FreeLimit): Rejection | null {
    const meter = this.#getMeter(free.subject)
    if (countFreeInMinute(meter, free.minute) >= free.perMinute) {
      return { reason: 'rate', per: 'minute', limit: free.perMinute }
    }
    if (meter.freeDay >= free.perDay) return { reason: 'rate', per: 'day', limit: free.perDay }
    return null
  }

  #countFreeRequest({ subject, minute }: FreeLimit): void {
    const meter = this.#getMeter(subject)
    if (!isSameMinute(meter, minute)) {
      meter.minute = minute
      meter.freeMinute = 0
    }
    meter.freeMinute++
    meter.freeDay++
  }
}
