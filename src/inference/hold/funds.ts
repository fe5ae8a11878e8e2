import type { Gateway } from '../../gateway/gateway.ts'
import {
  type Amounts,
  addAmounts,
  coversAmounts,
  isNothing,
  maxAmounts,
  noAmounts,
  subtractAmounts,
} from '../../ledger/amounts.ts'
import type { Bill } from '../../ledger/bill.ts'
import type { AdmitOperation, ExchangeOperation } from '../../ledger/engine.ts'
import { canBeSettled, isFinal } from '../../ledger/hold-queue.ts'
import type { LimitRejection, NearestLimit, Rejection } from '../../ledger/ledger-state.ts'
import type { Shortage } from '../../ledger/shortages.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import { buildExtension, type FundedRequest } from './extension.ts'
import { limitError } from './limit-error.ts'
import { type HeldAmounts, nothingHeld, RequestHold, releaseHold } from './request-hold.ts'

/** Holds that replace those of a request, and of the requests on whose behalf it is made. */
interface Change {
  own: Amounts
  /** Amounts of each outer request, the nearest first. */
  outer: readonly Amounts[]
  /** The first holds of requests. */
  admissions: readonly AdmitOperation[]
}

/** Returns the change that is necessary now; null if there is none. */
type BuildChangeFn = () => Change | null

/**
 * The holds of a request that pays for more than one thing: its turns, its plugins and tools, and the requests made on
 * its behalf, which draw on it. When a limit is reached because of the holds of others, the request waits for its turn
 * in the queue, and then keeps a hold only for what it has paid.
 */
export class Funds {
  readonly #request: FundedRequest
  /** The funds of the requests on whose behalf it is made, the nearest first. */
  readonly #outers: readonly Funds[]
  /** Null until the request has a bill. */
  bill: Bill | null
  readonly #hold: RequestHold
  /** The cost of its next turn, which nothing else may use. */
  #turn = noAmounts
  /** All fees reserved so far, whether they are on the bill or not. */
  #reservedFees = 0n
  #hasPaidOthers = false
  /** The limit that left the least on admission. */
  #shortage: Shortage | null = null
  /** The most that it needed at once, with what it had paid. */
  #peak = 0n
  #isClosed = false
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor(request: FundedRequest, bill: Bill | null, outer: Funds | null) {
    this.#request = request
    this.#hold = new RequestHold(request)
    this.bill = bill
    this.#outers = outer ? outer.#family : []
  }

  get held(): Amounts {
    return this.#hold.current
  }

  /** Whether something was held before admission, or another request pays. */
  get isInUse(): boolean {
    return this.#outers.length > 0 || this.#hold.current.id !== null
  }

  /** Amounts that the request has paid and will be charged for. */
  get #paid(): Amounts {
    if (!this.bill) return noAmounts
    const { charge, fees } = this.bill
    const pending = this.#reservedFees > fees ? this.#reservedFees - fees : 0n
    return { amount: charge.cost + pending, byok: charge.byok }
  }

  get #hasPaid(): boolean {
    return this.#family.some((funds) => funds.#hasPaidOthers || funds.#hasOwnCosts)
  }

  get #hasOwnCosts(): boolean {
    return (this.bill !== null && this.bill.lines.length > 0) || !isNothing(this.#paid)
  }

  /** Holds the cost of a turn before admission, when the request pays for something that decides how it is sent. */
  async reserveAhead(gateway: Gateway, turn: Amounts): Promise<void> {
    this.#turn = turn
    await this.#require(gateway, noAmounts)
  }

  /** Places the hold of a request that pays for one reply. */
  admit(gateway: Gateway, op: AdmitOperation): Promise<Rejection | null> {
    this.#turn = noAmounts
    return this.#change(gateway, () => this.#buildChange(noAmounts, [op]))
  }

  /**
   * Places the hold of a request that may pay for more: at least its first turn, and as much of the other steps as its
   * limits allow. The request's own hold is empty, because it cannot change any more.
   */
  async admitWithSteps(gateway: Gateway, op: AdmitOperation, steps: Amounts): Promise<Rejection | null> {
    const { amount, byok } = op.request
    const turn = { amount, byok }
    op.request.amount = 0n
    op.request.byok = 0n
    this.#turn = turn
    let optional = steps
    for (let lastRejection: LimitRejection | null = null; ; ) {
      // What was reserved ahead is not given up for steps that may not be taken.
      const isWaiting = !this.#hasPaid || isNothing(optional)
      const build = () => this.#buildChange(addAmounts(turn, optional), [op])
      op.request.review = (nearest) =>
        this.#reviewShortage(gateway, nearest, addAmounts(turn, steps), lastRejection)
      const rejection = await this.#change(gateway, build, isWaiting)
      if (!rejection || rejection.reason === 'rate' || rejection.isFinal) return rejection
      if (isNothing(optional)) return rejection
      if (isWaiting && canBeSettled(rejection)) return rejection
      lastRejection = rejection
      const excess = rejection.needed - rejection.attainable
      optional = isWaiting ? subtractAmounts(optional, { amount: excess, byok: excess }) : noAmounts
    }
  }

  /** Gives up where a request like this one had to before, after it had paid. */
  #reviewShortage(
    gateway: Gateway,
    { limit, available }: NearestLimit,
    plan: Amounts,
    lastRejection: LimitRejection | null,
  ): Rejection | null {
    const shortage = { limit, available, needed: plan.amount }
    if (lastRejection && gateway.ledger.holdQueue.shortages.isRepeated(shortage))
      return { ...lastRejection, isFinal: true }
    this.#shortage = shortage
    this.#peak = 0n
    return null
  }

  /** Sets what the next turn needs; nothing, if the reply can end without one. */
  protectTurn(turn: Amounts): void {
    this.#turn = turn
  }

  /** Holds what the next turn may cost. */
  async coverTurn(gateway: Gateway, turn: Amounts): Promise<void> {
    this.#reservedFees = this.bill?.fees ?? 0n
    this.#turn = turn
    await this.#require(gateway, noAmounts)
  }

  /** Holds a fee before it is paid, besides the turn that follows. */
  async reserveFee(gateway: Gateway, nanos: bigint): Promise<void> {
    await this.#require(gateway, { amount: nanos, byok: 0n }, () => {
      this.#reservedFees += nanos
    })
  }

  /** Holds what is needed. Throws the error of the limit that does not allow it. */
  async #require(gateway: Gateway, need: Amounts, onHeld?: () => void): Promise<void> {
    const build = () => {
      const least = addAmounts(this.#paid, this.#turn, need)
      this.#recordPeak(least)
      return coversAmounts(this.held, least) ? null : this.#buildChange(least, [])
    }
    const rejection = await this.#change(gateway, build, true, onHeld)
    if (!rejection) return
    this.#reportShortage(gateway, this.#shortage?.available ?? 0n)
    throw limitError(this.#request, rejection)
  }

  /** The outer requests pay first, each up to what it needs itself. */
  #buildChange(least: Amounts, admissions: readonly AdmitOperation[]): Change {
    const own = admissions.length > 0 ? least : maxAmounts(this.held, least)
    const requests = admissions.map(({ request }) => request)
    this.#recordPeak(addAmounts(least, ...requests))
    let missing = subtractAmounts(addAmounts(own, ...requests), this.held)
    const outer = this.#outers.map((funds) => {
      const rest = maxAmounts(subtractAmounts(funds.held, missing), addAmounts(funds.#paid, funds.#turn))
      missing = subtractAmounts(missing, subtractAmounts(funds.held, rest))
      return rest
    })
    return { own, outer, admissions }
  }

  #recordPeak(least: Amounts): void {
    const [outer] = this.#outers
    const peak = least.amount + (this.bill?.nested ?? 0n)
    if (peak > this.#peak) this.#peak = peak
    if (outer) outer.#recordPeak(addAmounts(outer.#paid, outer.#turn, least))
  }

  /** Reports, once, the amount that turned out to be too little for the request. */
  #reportShortage(gateway: Gateway, available: bigint): void {
    if (this.#shortage && this.#hasPaid)
      gateway.ledger.holdQueue.shortages.add({ ...this.#shortage, available })
    this.#shortage = null
  }

  /** Makes a change at once or, when holds of others stand in the way, once they are settled. */
  async #change(
    gateway: Gateway,
    build: BuildChangeFn,
    isWaiting = true,
    onHeld?: () => void,
  ): Promise<Rejection | null> {
    const { holdQueue } = gateway.ledger
    const rejection = await this.#attempt(gateway, build, (op) => holdQueue.exchange(op), onHeld)
    if (!rejection || !isWaiting || isFinal(rejection)) return rejection
    if (!this.#hasPaid && !canBeSettled(rejection)) return rejection
    await this.#lock(async () => {
      for (const funds of this.#family) await funds.#shrink(gateway)
    })
    return this.#wait(gateway, () =>
      this.#attempt(gateway, build, (op) => holdQueue.exchangeInTurn(op), onHeld),
    )
  }

  /** One change at a time of all requests that are made on behalf of one, and none of them waits for others meanwhile. */
  #lock<T>(work: () => Promise<T>): Promise<T> {
    const root = this.#outers.at(-1) ?? this
    const result = root.#lastChange.then(work)
    root.#lastChange = result.catch(() => undefined)
    return result
  }

  #attempt(
    gateway: Gateway,
    build: BuildChangeFn,
    exchange: (op: ExchangeOperation) => Promise<Rejection | null>,
    onHeld?: () => void,
  ): Promise<Rejection | null> {
    return this.#lock(async () => {
      // Nothing would release what is held now.
      if (this.#hasEnded) throw new ClientDisconnectedError()
      const change = build()
      const rejection = change && (await this.#place(gateway, change, exchange))
      if (!rejection) onHeld?.()
      return rejection
    })
  }

  /** Whether the request, or one on whose behalf it is made, has ended. */
  get #hasEnded(): boolean {
    return this.#family.some((funds) => funds.#isClosed)
  }

  async #place(
    gateway: Gateway,
    change: Change,
    exchange: (op: ExchangeOperation) => Promise<Rejection | null>,
  ): Promise<Rejection | null> {
    const { op, after } = this.#buildExchange(gateway, change)
    const rejection = await this.#exchange(gateway, () => exchange(op))
    if (rejection) return rejection
    for (const [index, funds] of this.#family.entries())
      funds.#hold.replace(gateway, after[index] ?? nothingHeld)
    for (const funds of this.#outers) funds.#hasPaidOthers = true
    if (!this.#hasEnded) return null
    // The client disconnected meanwhile.
    for (const { request } of change.admissions) await releaseHold(gateway, this.#request, request.id)
    for (const funds of this.#family)
      if (funds === this || funds.#isClosed) await funds.#hold.release(gateway)
    throw new ClientDisconnectedError()
  }

  /** Replaces holds. If the result is lost, both may exist: the ledger releases the new ones, and this the old ones. */
  async #exchange(gateway: Gateway, exchange: () => Promise<Rejection | null>): Promise<Rejection | null> {
    try {
      return await exchange()
    } catch (error) {
      for (const funds of this.#family) funds.#hold.releaseLater(gateway)
      throw error
    }
  }

  /** Waits until the holds are placed, or resolves with the limit that they exceed. */
  async #wait(gateway: Gateway, attempt: () => Promise<Rejection | null>): Promise<Rejection | null> {
    const { signal } = this.#request.httpRequest
    const family = this.#family
    for (const funds of family) funds.#hold.addWaiter(gateway)
    const waiting = gateway.ledger.holdQueue.wait({
      attempt,
      limits: this.#hold.limits,
      hasPaid: this.#hasPaid,
      since: (this.#outers.at(-1) ?? this).#request.startedAt,
      held: () => addAmounts(...family.map((funds) => funds.held)),
      signal,
      onEnd: () => {
        for (const funds of family) funds.#hold.removeWaiter(gateway)
      },
    })
    return waiting.catch((error: unknown) => {
      throw signal.aborted ? new ClientDisconnectedError() : error
    })
  }

  /** The funds of the request and those that they draw on, the nearest first. */
  get #family(): Funds[] {
    return [this, ...this.#outers]
  }

  #buildExchange(gateway: Gateway, { own, outer, admissions }: Change) {
    const admits = [...admissions]
    const releases: string[] = []
    const amounts = [own, ...outer]
    const after = this.#family.map((funds, index): HeldAmounts => {
      if (funds.#hold.current.id !== null) releases.push(funds.#hold.current.id)
      const next = amounts[index] ?? noAmounts
      if (isNothing(next)) return nothingHeld
      const op = buildExtension(gateway, funds.#request, next)
      admits.push(op)
      return { id: op.request.id, ...next }
    })
    const op: ExchangeOperation = { op: 'exchange', releases, admits }
    return { op, after }
  }

  /** Reduces the hold to what was paid, or to nothing if the request ends meanwhile: nothing else would release it. */
  async #shrink(gateway: Gateway): Promise<void> {
    const paid = this.#paid
    if (coversAmounts(paid, this.held)) return
    if (isNothing(paid)) return this.#hold.release(gateway)
    const { id } = this.#hold.current
    const op = buildExtension(gateway, this.#request, paid)
    const change: ExchangeOperation = { op: 'exchange', releases: id ? [id] : [], admits: [op] }
    const rejection = await this.#exchange(gateway, () => gateway.ledger.holdQueue.exchange(change))
    if (!rejection) this.#hold.replace(gateway, { id: op.request.id, ...paid })
    if (this.#isClosed) await this.#hold.release(gateway)
  }

  /** Moves the lines of a request without a record to the bill of the request that it is made for. */
  passLines(): void {
    const outerBill = this.#outers[0]?.bill
    if (outerBill) for (const line of this.bill?.takeUnrecorded() ?? []) outerBill.addNested(line)
  }

  /** Releases the hold once the request is settled, or has failed before. */
  async close(gateway: Gateway): Promise<void> {
    this.#isClosed = true
    this.passLines()
    // Those who wait may need as much.
    if (gateway.ledger.holdQueue.length > 0) this.#reportShortage(gateway, this.#peak - 1n)
    await this.#hold.release(gateway).catch((err: unknown) => this.#hold.logFailure(gateway, err))
  }
}
