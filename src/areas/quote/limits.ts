import type { LimitKind, Wish } from '../../ledger/book.ts'
import type { Window } from '../../ledger/meter.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import type { Preview } from '../../ledger/preview.ts'
import { windowWords } from '../../pipeline/admit.ts'

type Interval = (typeof windowWords)[Window] | 'minute'

/** A limit as a client sees it: in USD, or in requests. */
export interface ShownLimit {
  kind: LimitKind | 'free_requests'
  /** Whose spending is counted. */
  subject: string
  interval: Interval
  unit: 'usd' | 'requests'
  limit: number | null
  spent: number | null
  held: number | null
  remaining: number
  needed: number
  would_fit: boolean
}

/** What the whole account has is for management keys; whether the request fits into it is not. */
const unseen = { limit: null, spent: null, held: null }

/** In the order they are checked. */
export function limitsOf({ free }: Wish, { limits, free: used }: Preview): ShownLimit[] {
  const money = limits.map(({ limit, needed, spent, held, room, fits }) => ({
    kind: limit.kind,
    subject: subjectOf(limit.subject),
    interval: windowWords[limit.window],
    unit: 'usd' as const,
    ...(limit.kind === 'credits'
      ? unseen
      : { limit: usdFromNanos(limit.amount), spent: usdFromNanos(spent), held: usdFromNanos(held) }),
    remaining: usdFromNanos(room),
    needed: usdFromNanos(needed),
    would_fit: fits,
  }))
  if (!free || !used) return money
  return [
    ...money,
    requests(free.subject, 'minute', free.perMinute, used.minute),
    requests(free.subject, 'daily', free.perDay, used.day),
  ]
}

function requests(subject: string, interval: Interval, limit: number, spent: number): ShownLimit {
  const remaining = Math.max(0, limit - spent)
  return {
    kind: 'free_requests',
    subject: subjectOf(subject),
    interval,
    unit: 'requests',
    limit,
    spent,
    held: 0,
    remaining,
    needed: 1,
    would_fit: remaining > 0,
  }
}

/** The name of a meter begins with whose it is. */
function subjectOf(meter: string): string {
  return meter.slice(0, meter.indexOf(':'))
}
