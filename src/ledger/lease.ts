import { type Amounts, addAmounts, isNothing, maxAmounts, noAmounts, subtractAmounts } from './amounts.ts'
import type { AdmitOperation, GrantLeaseOperation, Settlement, UseLeaseOperation } from './engine.ts'
import type { HoldRequest, Limit, NearestLimit } from './ledger-state.ts'
import type { LeaseState } from './postgres-transaction.ts'

/** A lease is meant to last for this many of its largest requests. */
const targetRequests = 64n
/** Part of a lease that may be spent and acknowledged before it is in the database. */
export const allowanceShare = 4n
/** Fewer requests than this are not worth a lease. */
const minimumRequests = 4n
/** A lease without requests is returned after this time, and one that is too large is reduced. */
const idleMs = 60_000
const reviewMs = 10_000
/** Interval of attempts to enlarge a lease, where its limits leave too little. */
const growRetryMs = 1000

/** A hold within a lease. */
interface LeasedHold {
  op: AdmitOperation
  /** It has a row, or the round in progress writes one. */
  isWritten: boolean
}

/** An amount that this node may hold without the database, in the meters of one key and on one day. */
export class Lease {
  readonly id: string
  readonly subjects: readonly string[]
  readonly day: string
  /** The limits that it was granted within. */
  limits: readonly Limit[]
  /** What may be held now. */
  #amount = 0n
  #byok = 0n
  /** Reserved in the database, as last written. */
  #written: Amounts = noAmounts
  /** Spent since. */
  #unflushedAmount = 0n
  #unflushedByok = 0n
  #nearest: NearestLimit | null = null
  /** Spent since `#nearest` was computed, and held. */
  #usedSinceNearest = 0n
  #largest: Amounts
  #peak: Amounts = noAmounts
  #usedAt: number
  #reviewedAt: number
  #growAt = 0
  readonly #holds = new Map<string, LeasedHold>()
  #settlements: Settlement[] = []
  #writtenHolds = new Set<string>()
  #returned: Amounts = noAmounts
  /** Its end is being written. */
  #isEnding = false
  /** Nothing is admitted any more: what is free is returned. */
  isRetired = false

  constructor(id: string, { request: { subjects, day, limits, amount, byok } }: AdmitOperation, now: number) {
    this.id = id
    this.subjects = subjects
    this.day = day
    this.limits = limits
    this.#largest = { amount, byok }
    this.#usedAt = now
    this.#reviewedAt = now
  }

  get free(): Amounts {
    return { amount: this.#amount, byok: this.#byok }
  }

  get openHolds(): number {
    return this.#holds.size
  }

  /** Whether something has to be written. */
  get isChanged(): boolean {
    if (this.#settlements.length > 0 || !isNothing(this.#returned)) return true
    for (const { isWritten } of this.#holds.values()) if (!isWritten) return true
    return false
  }

  /** Whether it can end: it is retired, and has neither open holds nor a free amount. */
  get isOver(): boolean {
    const isUnused = this.#holds.size === 0 && this.#amount === 0n && this.#byok === 0n
    return this.isRetired && isUnused && !this.#isEnding
  }

  /** Holds an amount if it is free. */
  admit(op: AdmitOperation, now: number): boolean {
    const { request } = op
    if (this.isRetired || request.amount > this.#amount || request.byok > this.#byok) return false
    this.#amount -= request.amount
    this.#byok -= request.byok
    this.#holds.set(request.id, { op, isWritten: false })
    this.#usedAt = now
    if (request.amount > this.#largest.amount || request.byok > this.#largest.byok)
      this.#largest = maxAmounts(this.#largest, request)
    this.#setNearest(request)
    return true
  }

  #setNearest(request: HoldRequest): void {
    this.#usedSinceNearest += request.amount
    if (!this.#nearest) return
    const { limit, available } = this.#nearest
    const needed = request.amount + (limit.includeByok ? request.byok : 0n)
    const left = available - this.#usedSinceNearest + request.amount
    request.nearest = { limit, available: left > needed ? left : needed, needed }
  }

  /** Takes back an admission that was not journaled. */
  cancel({ request }: AdmitOperation): void {
    this.#holds.delete(request.id)
    this.#amount += request.amount
    this.#byok += request.byok
    this.#usedSinceNearest -= request.amount
  }

  settle(op: Settlement): void {
    const hold = this.#holds.get(op.id)
    if (!hold) return
    this.#holds.delete(op.id)
    const { amount, byok } = hold.op.request
    const { spent } = op
    this.#amount += amount - spent.amount
    this.#byok += byok - spent.byok
    this.#usedSinceNearest -= amount - spent.amount
    this.#unflushedAmount += spent.amount
    this.#unflushedByok += spent.byok
    this.#settlements.push(op)
    if (hold.isWritten) this.#writtenHolds.add(op.id)
    if (this.isRetired) this.returnFree()
  }

  /** Whether what is acknowledged now stays reserved if this node ends before it is written. */
  get isCovered(): boolean {
    return (
      this.#unflushedAmount * allowanceShare <= this.#written.amount &&
      this.#unflushedByok * allowanceShare <= this.#written.byok
    )
  }

  /** Gives up everything that is not held. */
  returnFree(): void {
    this.#return({ amount: this.#amount, byok: this.#byok })
  }

  retire(): void {
    this.isRetired = true
    this.returnFree()
  }

  #return({ amount, byok }: Amounts): void {
    this.#amount -= amount
    this.#byok -= byok
    this.#returned = { amount: this.#returned.amount + amount, byok: this.#returned.byok + byok }
  }

  /** Returns what has not been needed for a while. */
  review(now: number): void {
    if (this.isRetired) return
    if (now - this.#usedAt > idleMs) {
      this.retire()
      return
    }
    const used = this.#inUse
    if (used.amount > this.#peak.amount || used.byok > this.#peak.byok)
      this.#peak = maxAmounts(this.#peak, used)
    if (now - this.#reviewedAt < reviewMs) return
    this.#reviewedAt = now
    const { amount, byok } = this.#target(this.#peak)
    this.#peak = noAmounts
    const excess = (free: bigint, target: bigint) => (free > 2n * target ? free - target : 0n)
    this.#return({ amount: excess(this.#amount, amount), byok: excess(this.#byok, byok) })
  }

  /** Held, or spent and not written yet. */
  get #inUse(): Amounts {
    let amount = this.#unflushedAmount
    let byok = this.#unflushedByok
    for (const { op } of this.#holds.values()) {
      amount += op.request.amount
      byok += op.request.byok
    }
    return { amount, byok }
  }

  #target(inUse: Amounts): Amounts {
    const { amount, byok } = this.#largest
    const several = { amount: amount * targetRequests, byok: byok * targetRequests }
    return maxAmounts(several, { amount: 2n * inUse.amount, byok: 2n * inUse.byok })
  }

  /** Whether it should be enlarged soon. */
  isLow(now: number): boolean {
    if (this.isRetired || now < this.#growAt) return false
    const quarter = targetRequests / 4n
    return this.#amount < this.#largest.amount * quarter || this.#byok < this.#largest.byok * quarter
  }

  /** The request for as much as is missing. */
  buildGrant(owner: string, now: number): GrantLeaseOperation {
    this.#growAt = now + growRetryMs
    const target = this.#target(this.#inUse)
    const { amount, byok } = this.#largest
    return {
      op: 'grant lease',
      id: this.id,
      owner,
      subjects: this.subjects,
      day: this.day,
      limits: this.limits,
      wanted: {
        amount: target.amount > this.#amount ? target.amount - this.#amount : 0n,
        byok: target.byok > this.#byok ? target.byok - this.#byok : 0n,
      },
      minimum: { amount: amount * minimumRequests, byok: byok * minimumRequests },
    }
  }

  receive({ granted, nearest, amount, byok }: LeaseState): void {
    this.#amount += granted.amount
    this.#byok += granted.byok
    this.#written = { amount, byok }
    this.#nearest = nearest
    this.#usedSinceNearest = 0n
    if (!isNothing(granted)) this.#growAt = 0
    if (this.isRetired) this.returnFree()
  }

  /** Takes everything that has changed since the last time. */
  takeUse(): UseLeaseOperation {
    const admits: AdmitOperation[] = []
    for (const hold of this.#holds.values()) {
      if (hold.isWritten) continue
      hold.isWritten = true
      admits.push(hold.op)
    }
    const use: UseLeaseOperation = {
      op: 'use lease',
      id: this.id,
      subjects: this.subjects,
      day: this.day,
      limits: this.limits,
      admits,
      settlements: this.#settlements,
      writtenHolds: this.#writtenHolds,
      returned: this.#returned,
      isLast: this.isOver,
    }
    this.#isEnding ||= use.isLast
    this.#settlements = []
    this.#writtenHolds = new Set()
    this.#returned = noAmounts
    this.#written = subtractAmounts(this.#written, sumUsed(use))
    return use
  }

  /** What `takeUse` returned is in the database. */
  confirm({ settlements }: UseLeaseOperation): void {
    for (const { spent } of settlements) {
      this.#unflushedAmount -= spent.amount
      this.#unflushedByok -= spent.byok
    }
  }

  /** Gives the hold a life without the lease: the database has its row. */
  release(id: string): void {
    this.#holds.delete(id)
  }

  *openIds(): Generator<string> {
    yield* this.#holds.keys()
  }
}

/** The most that a use takes from its lease. */
function sumUsed({ admits, settlements, writtenHolds, returned }: UseLeaseOperation): Amounts {
  const direct = settlements.filter(({ id }) => !writtenHolds.has(id))
  return addAmounts(returned, ...admits.map(({ request }) => request), ...direct.map(({ spent }) => spent))
}

export function isEqualLimits(a: readonly Limit[], b: readonly Limit[]): boolean {
  if (a === b) return true
  return (
    a.length === b.length &&
    a.every((limit, index) => {
      const other = b[index]
      return (
        other !== undefined &&
        limit.subject === other.subject &&
        limit.window === other.window &&
        limit.includeByok === other.includeByok &&
        limit.amount === other.amount
      )
    })
  )
}
