import { evaluateLimit, type Limit, type LimitKind } from '../../ledger/ledger-state.ts'
import { loadMetersForDay } from '../../ledger/meter-days.ts'
import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import { type AppliedLimit, applyLimits } from './applied-limits.ts'
import type { LimitCounts } from './counts.ts'
import type { KeyLimits, LimitedKey } from './limit-index.ts'
import type { LimitMeasure, LimitWindow } from './limit-rule.ts'
import { locateInWindow } from './window.ts'

/** A limit of every request of a key, and what is used of it now. */
export interface KeyLimitUse {
  kind: LimitKind
  name: string | null
  measure: LimitMeasure
  window: LimitWindow
  amount: bigint
  used: bigint
  /** Milliseconds since the epoch; null if the window never ends. */
  resetsAt: number | null
}

interface KeyLimitDeps {
  db: Db
  limitCounts: LimitCounts
}

interface LimitedBy {
  /** Enforced by the ledger. */
  limits: readonly Limit[]
  declaredLimits: KeyLimits | null
}

const windows = { total: 'lifetime', day: 'day', week: 'week', month: 'month' } as const

/** The limits that every request of a key counts in, the closest first. The balance of the owner is not among them. */
export async function listKeyLimits(
  deps: KeyLimitDeps,
  key: LimitedKey,
  { limits, declaredLimits }: LimitedBy,
  now: number,
): Promise<KeyLimitUse[]> {
  const always = declaredLimits ? { always: declaredLimits.always, selective: [] } : null
  const counted = always ? applyLimits(always, key, { endUser: null, tags: [] }, []) : []
  const used = await Promise.all([
    loadSpent(
      deps.db,
      limits.filter(({ kind }) => kind !== 'credits'),
      now,
    ),
    ...counted.map((applied) => loadCounted(deps.limitCounts, applied, now)),
  ])
  return used.flat().toSorted((a, b) => shareLeft(a) - shareLeft(b))
}

async function loadSpent(db: Db, limits: readonly Limit[], now: number): Promise<KeyLimitUse[]> {
  const subjects = [...new Set(limits.map(({ subject }) => subject))]
  const meters = await loadMetersForDay(db, subjects, utcDay(now))
  const bySubject = new Map(meters.map((meter) => [meter.subject, meter]))
  return limits.map((limit) => {
    const meter = bySubject.get(limit.subject)
    const { spent, held } = meter
      ? evaluateLimit(limit, meter, { amount: 0n, byok: 0n })
      : { spent: 0n, held: 0n }
    const window = windows[limit.window]
    return {
      kind: limit.kind,
      name: limit.name ?? null,
      measure: 'usd',
      window,
      amount: limit.amount,
      used: spent + held,
      resetsAt: locateInWindow(window, now).end,
    }
  })
}

async function loadCounted(counts: LimitCounts, applied: AppliedLimit, now: number): Promise<KeyLimitUse[]> {
  const { name, measure, window, amount } = applied.rule
  if (window === null) return []
  const { take, position } = await counts.take(applied, 0, now)
  return [{ kind: 'limit', name, measure, window, amount, used: BigInt(take.used), resetsAt: position.end }]
}

function shareLeft({ amount, used }: KeyLimitUse): number {
  return amount > used ? Number(amount - used) / Number(amount) : 0
}
