import { windowNames } from '../../../inference/hold/limit-error.ts'
import type { HoldRequest, LimitKind } from '../../../ledger/ledger-state.ts'
import type { Window } from '../../../ledger/meter.ts'
import type { AdmissionPreview } from '../../../ledger/preview.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

type LimitInterval = (typeof windowNames)[Window] | 'minute'

/** A limit as a client sees it: in USD or in requests. */
export interface LimitPreview {
  kind: LimitKind | 'free_requests'
  /** Subject whose spending is counted. */
  subject: string
  interval: LimitInterval
  unit: 'usd' | 'requests'
  limit: number | null
  spent: number | null
  held: number | null
  remaining: number
  needed: number
  would_fit: boolean
}

/** Account totals are visible to management keys only; whether the request fits is visible to all. */
const hiddenAmounts = { limit: null, spent: null, held: null }

/** Limits in the order of enforcement. */
export function toLimitPreviews(
  { free }: HoldRequest,
  { limits, free: used }: AdmissionPreview,
): LimitPreview[] {
  const money = limits.map(({ limit, needed, spent, held, available, fits }) => ({
    kind: limit.kind,
    subject: subjectOf(limit.subject),
    interval: windowNames[limit.window],
    unit: 'usd' as const,
    ...(limit.kind === 'credits'
      ? hiddenAmounts
      : { limit: usdFromNanos(limit.amount), spent: usdFromNanos(spent), held: usdFromNanos(held) }),
    remaining: usdFromNanos(available),
    needed: usdFromNanos(needed),
    would_fit: fits,
  }))
  if (!free || !used) return money
  return [
    ...money,
    toRequestLimit(free.subject, 'minute', free.perMinute, used.minute),
    toRequestLimit(free.subject, 'daily', free.perDay, used.day),
  ]
}

function toRequestLimit(
  subject: string,
  interval: LimitInterval,
  limit: number,
  spent: number,
): LimitPreview {
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

/** The name of a meter starts with its scope. */
function subjectOf(meter: string): string {
  return meter.slice(0, meter.indexOf(':'))
}
