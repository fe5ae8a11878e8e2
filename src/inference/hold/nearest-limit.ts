import type { CountedLimit } from '../../governance/limits/counts.ts'
import type { LimitMeasure, LimitWindow } from '../../governance/limits/limit-rule.ts'
import type { LimitKind, NearestLimit } from '../../ledger/ledger-state.ts'

/** A limit at the time of an admission. */
export interface RecordedLimit {
  kind: LimitKind
  /** Kind of subject whose spending counts: organization, workspace, key or member; `limit:` and the id of a limit. */
  subject: string
  measure: LimitMeasure
  window: LimitWindow
  amount: bigint
  /** What was available before the request; `needed` is what it held or reserved. */
  available: bigint
  needed: bigint
}

/** A few words instead of JSON: it is written for every request. */
export function encodeNearestLimit({ limit, available, needed }: NearestLimit): string {
  const { kind, subject, window, amount } = limit
  const counted = kind === 'limit' ? subject.split(':', 2).join(':') : subject.slice(0, subject.indexOf(':'))
  return `${kind} ${counted} ${window} ${amount} ${available} ${needed}`
}

/** The one of which the least share is left. */
export function encodeNearestOf(
  nearest: NearestLimit | null,
  counted: readonly CountedLimit[],
): string | null {
  let [text, least] = nearest
    ? [encodeNearestLimit(nearest), shareOf(nearest.available - nearest.needed, nearest.limit.amount)]
    : [null, Number.POSITIVE_INFINITY]
  for (const { applied, amount, take } of counted) {
    const { id, measure, window, amount: max } = applied.rule
    const left = max - BigInt(take.used)
    const share = shareOf(left, max)
    if (share >= least) continue
    least = share
    text = `limit limit:${id} ${window} ${max} ${left + BigInt(amount)} ${amount} ${measure}`
  }
  return text
}

function shareOf(left: bigint, amount: bigint): number {
  return Number(left) / Number(amount)
}

export function decodeNearestLimit(text: string): RecordedLimit {
  const [kind, subject = '', window, amount = 0, available = 0, needed = 0, measure = 'usd'] = text.split(' ')
  return {
    kind: kind as LimitKind,
    subject,
    measure: measure as LimitMeasure,
    window: window === 'total' ? 'lifetime' : (window as LimitWindow),
    amount: BigInt(amount),
    available: BigInt(available),
    needed: BigInt(needed),
  }
}
