import type { LimitKind, NearestLimit } from './ledger-state.ts'
import type { Window } from './meter.ts'

/** A limit at the time of an admission. */
export interface RecordedLimit {
  kind: LimitKind
  /** Kind of subject whose spending counts: organization, workspace, key or member; `limit:` and the id of a limit. */
  subject: string
  window: Window
  amount: bigint
  /** Amount available before the hold; `needed` is the amount held. */
  available: bigint
  needed: bigint
}

/** A few words instead of JSON: it is written for every request. */
export function encodeNearestLimit({ limit, available, needed }: NearestLimit): string {
  const { kind, subject, window, amount } = limit
  const counted = kind === 'limit' ? subject.split(':', 2).join(':') : subject.slice(0, subject.indexOf(':'))
  return `${kind} ${counted} ${window} ${amount} ${available} ${needed}`
}

export function decodeNearestLimit(text: string): RecordedLimit {
  const [kind, subject = '', window, amount = 0, available = 0, needed = 0] = text.split(' ')
  return {
    kind: kind as LimitKind,
    subject,
    window: window as Window,
    amount: BigInt(amount),
    available: BigInt(available),
    needed: BigInt(needed),
  }
}
