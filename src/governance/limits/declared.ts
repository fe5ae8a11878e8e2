import type { Limit } from '../../ledger/ledger-state.ts'
import { applyLimits, toLedgerLimit } from './applied-limits.ts'
import type { KeyLimits, LimitedKey } from './limit-index.ts'
import { ledgerWindowOf } from './limit-rule.ts'

const noFacts = { endUser: null, tags: [] }

/** The limits that the ledger enforces for every request of a key, and the others. */
export function splitDeclaredLimits(
  limits: KeyLimits | null,
  key: LimitedKey,
): { ledger: Limit[]; others: KeyLimits | null } {
  if (!limits) return { ledger: [], others: null }
  const always = limits.always.filter((rule) => ledgerWindowOf(rule))
  const ledger = applyLimits({ always, selective: [] }, key, noFacts, []).flatMap(
    (applied) => toLedgerLimit(applied) ?? [],
  )
  const rest = limits.always.filter((rule) => !ledgerWindowOf(rule))
  const others = rest.length === 0 && limits.selective.length === 0 ? null : { ...limits, always: rest }
  return { ledger, others }
}
