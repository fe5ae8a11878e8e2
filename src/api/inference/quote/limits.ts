import type { Gateway } from '../../../gateway/gateway.ts'
import { type LimitMeasure, ledgerWindowOf } from '../../../governance/limits/limit-rule.ts'
import { intervalNames, shortfallError, windowNames } from '../../../inference/hold/limit-error.ts'
import type { MeasuredUse } from '../../../inference/hold/measured-use.ts'
import type { RequestState } from '../../../inference/request/inference-request.ts'
import type { HoldRequest, LimitKind } from '../../../ledger/ledger-state.ts'
import type { Window } from '../../../ledger/meter.ts'
import type { AdmissionPreview } from '../../../ledger/preview.ts'
import type { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

type LimitInterval = (typeof windowNames)[Window] | 'hour' | 'minute' | 'second'

/** A limit as a client sees it: in USD or in requests. */
export interface LimitPreview {
  kind: LimitKind | 'free_requests'
  /** Of a declared limit. */
  name: string | null
  /** Subject whose spending is counted. */
  subject: string
  interval: LimitInterval
  unit: Exclude<LimitMeasure, 'concurrent_requests'>
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
    name: limit.name ?? null,
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
    name: null,
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

/** A declared limit that the ledger does not enforce, and the error of a request that does not fit into it. */
interface RatePreview {
  preview: LimitPreview
  error: GatewayError | null
}

/** Declared limits of requests, tokens and short-term dollars, without counting anything. */
export async function previewRates(
  { limitCounts }: Gateway,
  { limits, at }: RequestState,
  use: MeasuredUse,
): Promise<RatePreview[]> {
  const counted = limits?.applied.filter(({ rule }) => !ledgerWindowOf(rule)) ?? []
  const previews = counted.map(async (applied): Promise<RatePreview[]> => {
    const { measure, window, name, amount } = applied.rule
    if (measure === 'concurrent_requests' || window === null) return []
    const { take, position } = await limitCounts.take(applied, 0, at)
    const needed = use[measure]
    const fits = take.used + needed <= Number(amount)
    const toUnit = (value: number) => (measure === 'usd' ? value / 1e9 : value)
    const preview: LimitPreview = {
      kind: 'limit',
      name,
      subject: 'limit',
      interval: intervalNames[window],
      unit: measure,
      limit: toUnit(Number(amount)),
      spent: toUnit(take.used),
      held: 0,
      remaining: toUnit(Math.max(0, Number(amount) - take.used)),
      needed: toUnit(needed),
      would_fit: fits,
    }
    // Another candidate may serve the request.
    const isRejected = !fits && !applied.isPartial
    return [
      {
        preview,
        error: isRejected ? shortfallError({ applied, position, needed, used: take.used }, at) : null,
      },
    ]
  })
  return (await Promise.all(previews)).flat()
}
