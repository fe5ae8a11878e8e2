import type { Gateway } from '../../app/gateway.ts'
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
import { canBeSettled } from '../../ledger/hold-queue.ts'
import type { Rejection } from '../../ledger/ledger-state.ts'
import { createRelease } from '../../ledger/settlement.ts'
import type { Shortage } from '../../ledger/shortages.ts'
import { ClientDisconnectedError } from '../upstream/errors.ts'
import { buildExtension, type FundedRequest } from './extension.ts'
import { limitError } from './limit-error.ts'

/** Holds that replace those of a request, and of the request on whose behalf it is made. */
interface Change {
  own: Amounts
  /** The part of `own` that it cannot do without. */
  least: Amounts
  outer: Amounts
  /** The first holds of requests. */
  admissions: readonly AdmitOperation[]
}

interface HeldAmounts extends Amounts {
  /** Null if nothing is held. */
  id: string | null
}

const nothingHeld: HeldAmounts = { id: null, ...noAmounts }

/**
 * What is held for a request that pays for more than one thing: its turns, its plugins and tools, and the requests made
 * on its behalf, which draw on it. When a limit is reached because of the holds of others, it waits for its turn,
 * and then keeps nothing but what it has paid.
 */
export class Funds {
  readonly #request: FundedRequest
  readonly #outer: Funds | null
  /** Null until the request has a bill. */
  bill: Bill | null
  #held = nothingHeld
  /** What its next turn needs, which nothing else may use. */
  #turn = noAmounts
  /** For fees: all so far, whether they are on the bill or not. */
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
    this.bill = bill
    this.#outer = outer
  }

  get held(): Amounts {
    return this.#held
  }

  /** Whether something was held before admission, or another request pays. */
  get isInUse(): boolean {
    return this.#outer !== null || this.#held.id !== null
  }

  /** What it has paid and will be charged for. */
  get #paid(): Amounts {
    if (!this.bill) return noAmounts
    const { charge, fees } = this.bill
    const pending = this.#reservedFees > fees ? this.#reservedFees - fees : 0n
    return { amount: charge.cost + pending, byok: charge.byok }
  }

  get #hasPaid(): boolean {
    const isBilled = this.bill !== null && this.bill.lines.length > 0
    return isBilled || this.#hasPaidOthers || this.#hasOuterPaid
  }

  get #hasOuterPaid(): boolean {
    return this.#outer ? this.#outer.#hasPaid : false
  }

  /** Before its admission, when it pays for something that decides how it is sent. */
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
    for (let lastRejection: Rejection | null = null; ; ) {
      // What was reserved ahead is not given up for steps that may not be taken.
      const isWaiting = !this.#hasPaid || isNothing(optional)
      const build = () => this.#buildChange(addAmounts(turn, optional), [op])
      const rejection = await this.#change(gateway, build, isWaiting)
      if (!rejection) return this.#checkShortage(gateway, op, addAmounts(turn, steps), lastRejection)
      if (rejection.reason === 'rate' || isNothing(optional)) return rejection
      if (isWaiting && canBeSettled(rejection)) return rejection
      lastRejection = rejection
      const excess = rejection.needed - rejection.attainable
      optional = isWaiting ? subtractAmounts(optional, { amount: excess, byok: excess }) : noAmounts
    }
  }

  /** Gives up where a request like this one had to before, after it had paid. */
  async #checkShortage(
    gateway: Gateway,
    { request }: AdmitOperation,
    plan: Amounts,
    rejection: Rejection | null,
  ): Promise<Rejection | null> {
    if (!request.nearest) return null
    const { limit, available } = request.nearest
    this.#shortage = { limit, available, needed: plan.amount }
    this.#peak = 0n
    if (!rejection || !gateway.ledger.holdQueue.shortages.isRepeated(this.#shortage)) return null
    await gateway.ledger.settle(createRelease(request.id, this.#request.caller.organizationId))
    await this.#release(gateway)
    return rejection
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

  /** Throws the error of the limit that does not allow it. */
  async #require(gateway: Gateway, need: Amounts, onHeld?: () => void): Promise<void> {
    const build = () => {
      const least = addAmounts(this.#paid, this.#turn, need)
      this.#recordPeak(least)
      return coversAmounts(this.#held, least) ? null : this.#buildChange(least, [])
    }
    const rejection = await this.#change(gateway, build, true, onHeld)
    if (!rejection) return
    this.#reportShortage(gateway, this.#shortage?.available ?? 0n)
    throw limitError(this.#request, rejection)
  }

  /** The outer request pays first, up to what it needs itself. */
  #buildChange(least: Amounts, admissions: readonly AdmitOperation[]): Change {
    const own = admissions.length > 0 ? least : maxAmounts(this.#held, least)
    const placed = addAmounts(own, ...admissions.map(({ request }) => request))
    const outer = this.#outer
    this.#recordPeak(addAmounts(least, ...admissions.map(({ request }) => request)))
    if (!outer) return { own, least, outer: noAmounts, admissions }
    const rest = subtractAmounts(outer.#held, subtractAmounts(placed, this.#held))
    return { own, least, outer: maxAmounts(rest, addAmounts(outer.#paid, outer.#turn)), admissions }
  }

  #recordPeak(least: Amounts): void {
    const outer = this.#outer
    const peak = least.amount + (this.bill?.nested ?? 0n)
    if (peak > this.#peak) this.#peak = peak
    if (outer) outer.#recordPeak(addAmounts(outer.#paid, outer.#turn, least))
  }

  /** Once: what turned out to be too little for it. */
  #reportShortage(gateway: Gateway, available: bigint): void {
    if (this.#shortage && this.#hasPaid)
      gateway.ledger.holdQueue.shortages.add({ ...this.#shortage, available })
    this.#shortage = null
  }

  /** One change at a time: those of an outer request are made by several. */
  #change(
    gateway: Gateway,
    build: () => Change | null,
    isWaiting = true,
    onHeld?: () => void,
  ): Promise<Rejection | null> {
    const change = async () => {
      // Its request has ended: nothing would release what is held now.
      if (this.#isClosed) throw new ClientDisconnectedError()
      const built = build()
      const rejection = built && (await this.#placeOrWait(gateway, built, isWaiting))
      if (!rejection) onHeld?.()
      return rejection
    }
    const outer = this.#outer
    if (!outer) return this.#enqueue(change)
    return this.#enqueue(async () => {
      // One whose own hold suffices does not wait for what others do with that of the outer request.
      const isCovered = !this.#isClosed && build() === null
      if (!isCovered) return outer.#enqueue(change)
      onHeld?.()
      return null
    })
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lastChange.then(work)
    this.#lastChange = result.catch(() => undefined)
    return result
  }

  async #placeOrWait(gateway: Gateway, change: Change, isWaiting: boolean): Promise<Rejection | null> {
    const { op, commit } = this.#buildExchange(gateway, change)
    const rejection = await gateway.ledger.holdQueue.exchange(op)
    if (!rejection) return this.#conclude(gateway, commit)
    if (!isWaiting) return rejection
    if (this.#hasPaid) return this.#waitWithPaid(gateway, change)
    return canBeSettled(rejection) ? this.#waitWithoutHolds(gateway, change) : rejection
  }

  /** A request that has paid for nothing needs all of its holds at once. */
  async #waitWithoutHolds(gateway: Gateway, change: Change): Promise<Rejection | null> {
    await Promise.all(this.#family.map((funds) => funds.#release(gateway)))
    return this.#wait(gateway, change)
  }

  /** It keeps what it has paid, and waits for what it needs now. */
  async #waitWithPaid(gateway: Gateway, { least, admissions }: Change): Promise<Rejection | null> {
    const outer = this.#outer
    await Promise.all(this.#family.map((funds) => funds.#shrink(gateway)))
    const outerLeast = outer ? addAmounts(outer.#paid, outer.#turn) : noAmounts
    return this.#wait(gateway, { own: least, least, outer: outerLeast, admissions })
  }

  async #wait(gateway: Gateway, change: Change): Promise<Rejection | null> {
    const { op, commit } = this.#buildExchange(gateway, change)
    const retaining = this.#family.map((funds) => funds.#held)
    const { signal } = this.#request.httpRequest
    const waiting = gateway.ledger.holdQueue.wait(op, {
      hasPaid: this.#hasPaid,
      since: (this.#outer ?? this).#request.startedAt,
      retained: new Map(retaining.flatMap((held) => (held.id === null ? [] : [[held.id, held] as const]))),
      signal,
    })
    const rejection = await waiting.catch((error: unknown) => {
      throw signal.aborted ? new ClientDisconnectedError() : error
    })
    return rejection ?? this.#conclude(gateway, commit)
  }

  /** With the funds that it draws on. */
  get #family(): Funds[] {
    return this.#outer ? [this, this.#outer] : [this]
  }

  async #conclude(gateway: Gateway, commit: () => void): Promise<null> {
    commit()
    const outer = this.#outer
    if (outer) {
      outer.#hasPaidOthers = true
      if (outer.#isClosed) await outer.#release(gateway)
    }
    if (!this.#isClosed) return null
    // The client disconnected meanwhile.
    await this.#release(gateway)
    throw new ClientDisconnectedError()
  }

  #buildExchange(gateway: Gateway, { own, outer, admissions }: Change) {
    const admits = [...admissions]
    const releases: string[] = []
    const replace = (funds: Funds, amounts: Amounts): HeldAmounts => {
      if (funds.#held.id !== null) releases.push(funds.#held.id)
      if (isNothing(amounts)) return nothingHeld
      const op = buildExtension(gateway, funds.#request, amounts)
      admits.push(op)
      return { id: op.request.id, ...amounts }
    }
    const ownAfter = replace(this, own)
    const outerAfter = this.#outer && replace(this.#outer, outer)
    const op: ExchangeOperation = { op: 'exchange', releases, admits }
    const commit = () => {
      this.#held = ownAfter
      if (this.#outer && outerAfter) this.#outer.#held = outerAfter
    }
    return { op, commit }
  }

  /** To what it has paid. */
  async #shrink(gateway: Gateway): Promise<void> {
    const paid = this.#paid
    if (coversAmounts(paid, this.#held)) return
    if (isNothing(paid)) return this.#release(gateway)
    const { id } = this.#held
    const op = buildExtension(gateway, this.#request, paid)
    const rejection = await gateway.ledger.holdQueue.exchange({
      op: 'exchange',
      releases: id ? [id] : [],
      admits: [op],
    })
    if (!rejection) this.#held = { id: op.request.id, ...paid }
  }

  /** Once the request is settled, or has failed before. */
  async close(gateway: Gateway): Promise<void> {
    this.#isClosed = true
    // Those who wait may need as much.
    if (gateway.ledger.holdQueue.length > 0) this.#reportShortage(gateway, this.#peak - 1n)
    try {
      await this.#release(gateway)
    } catch (err) {
      // It is released once it has expired.
      gateway.log.warn({ err, id: this.#request.id }, 'failed to release a hold')
    }
  }

  async #release(gateway: Gateway): Promise<void> {
    const { id } = this.#held
    this.#held = nothingHeld
    if (id === null) return
    // A change in progress may have released it.
    await gateway.ledger.settle({ ...createRelease(id, this.#request.caller.organizationId), isRetry: true })
  }
}
