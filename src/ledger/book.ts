import { addTo, freeInMinute, isSameMinute, type Meter, moveTo, type Window } from './meter.ts'

export type LimitKind = 'credits' | 'key' | 'workspace' | 'guardrail'

/** A sum that may not be passed. */
export interface Limit {
  kind: LimitKind
  subject: string
  window: Window
  includeByok: boolean
  amount: bigint
}

/** How often free variants may be asked, counted for the subject. */
export interface FreeLimit {
  subject: string
  minute: string
  perMinute: number
  perDay: number
}

export interface Amounts {
  /** Taken from credits. */
  amount: bigint
  /** At list prices, where somebody's own key pays the provider. */
  byok: bigint
}

/** What a request wants to be set aside for it. */
export interface Wish extends Amounts {
  id: string
  /** The meters it counts in. */
  subjects: readonly string[]
  day: string
  /** In the order they are checked. */
  limits: readonly Limit[]
  free: FreeLimit | null
}

export interface Hold extends Amounts {
  id: string
  subjects: readonly string[]
  /** The day it began, in which it counts whatever the clock says when it is settled. */
  day: string
}

/** Where a limit stands, and whether something more fits into it. */
export interface LimitStanding {
  needed: bigint
  spent: bigint
  held: bigint
  room: bigint
  fits: boolean
}

export function standingOf(
  { kind, window, includeByok, amount: most }: Limit,
  meter: Meter,
  { amount, byok }: Amounts,
): LimitStanding {
  const needed = amount + (includeByok ? byok : 0n)
  const spent = meter.spent[window] + (includeByok ? meter.byok[window] : 0n)
  const held = meter.held[window] + (includeByok ? meter.heldByok[window] : 0n)
  const room = most - spent - held
  // What costs nothing is stopped by debts, and by nothing else.
  const fits = needed === 0n ? kind !== 'credits' || most >= spent : needed <= room
  return { needed, spent, held, room: room < 0n ? 0n : room, fits }
}

export type Refusal =
  | { reason: 'limit'; kind: LimitKind; window: Window; room: bigint; needed: bigint }
  | { reason: 'rate'; per: 'minute' | 'day'; limit: number }

/**
 * The rules of money, and nothing else: no clock, no database. Whoever fills the book with the meters and
 * holds that an operation touches gets the same answer everywhere.
 */
export class Book {
  readonly meters = new Map<string, Meter>()
  readonly holds = new Map<string, Hold>()

  /** Sets aside what a request may cost at most, in every meter at once, or says which limit is in the way. */
  admit(wish: Wish): Refusal | null {
    // Whoever was not told the first time asks again.
    if (this.holds.has(wish.id)) return null
    const meters = wish.subjects.map((subject) => this.#meter(subject))
    for (const meter of meters) moveTo(meter, wish.day)
    const refusal = this.#exceeded(wish) ?? this.#tooOften(wish.free)
    if (refusal) return refusal
    const { id, subjects, day, amount, byok } = wish
    this.holds.set(id, { id, subjects, day, amount, byok })
    for (const meter of meters) {
      addTo(meter, 'held', day, amount)
      addTo(meter, 'heldByok', day, byok)
    }
    if (wish.free) this.#countFree(wish.free)
    return null
  }

  /** Turns a hold into what was really spent. Null when it was settled before: then nothing changes. */
  settle(id: string, spent: Amounts): Hold | null {
    const hold = this.holds.get(id)
    if (!hold) return null
    this.holds.delete(id)
    for (const subject of hold.subjects) {
      const meter = this.#meter(subject)
      addTo(meter, 'held', hold.day, -hold.amount)
      addTo(meter, 'heldByok', hold.day, -hold.byok)
      addTo(meter, 'spent', hold.day, spent.amount)
      addTo(meter, 'byok', hold.day, spent.byok)
    }
    return hold
  }

  /** Changes what was spent for a request that is settled. */
  correct({ subjects, day }: Pick<Hold, 'subjects' | 'day'>, difference: Amounts): void {
    for (const subject of subjects) {
      const meter = this.#meter(subject)
      addTo(meter, 'spent', day, difference.amount)
      addTo(meter, 'byok', day, difference.byok)
    }
  }

  #meter(subject: string): Meter {
    const meter = this.meters.get(subject)
    if (!meter) throw new Error(`no meter was loaded for ${subject}`)
    return meter
  }

  #exceeded({ limits, amount, byok }: Wish): Refusal | null {
    for (const limit of limits) {
      const { kind, window } = limit
      const { needed, room, fits } = standingOf(limit, this.#meter(limit.subject), { amount, byok })
      if (!fits) return { reason: 'limit', kind, window, room, needed }
    }
    return null
  }

  #tooOften(free: FreeLimit | null): Refusal | null {
    if (!free) return null
    const meter = this.#meter(free.subject)
    if (freeInMinute(meter, free.minute) >= free.perMinute) {
      return { reason: 'rate', per: 'minute', limit: free.perMinute }
    }
    if (meter.freeDay >= free.perDay) return { reason: 'rate', per: 'day', limit: free.perDay }
    return null
  }

  #countFree({ subject, minute }: FreeLimit): void {
    const meter = this.#meter(subject)
    if (!isSameMinute(meter, minute)) {
      meter.minute = minute
      meter.freeMinute = 0
    }
    meter.freeMinute++
    meter.freeDay++
  }
}
