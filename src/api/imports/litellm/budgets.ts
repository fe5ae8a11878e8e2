import type { LimitMeasure, LimitWindow } from '../../../governance/limits/limit-rule.ts'
import { nameLimit, toPlannedBudget, toUsdLimit } from '../amounts.ts'
import type { PlannedBudget, PlannedLimit, SkippedItem } from '../import-plan.ts'
import type { Budget } from './database-rows.ts'

/** The budget in dollars, and what is said about its window. */
export function toBudget(
  { max_budget, budget_duration }: Budget,
  skipped: (reason: string) => void,
): PlannedBudget | null {
  return toPlannedBudget(max_budget, budget_duration, skipped)
}

const rates: readonly {
  field: 'tpm_limit' | 'rpm_limit' | 'tpd_limit' | 'max_parallel_requests'
  measure: LimitMeasure
  window: LimitWindow | null
  label: string
}[] = [
  { field: 'rpm_limit', measure: 'requests', window: 'minute', label: 'requests per minute' },
  { field: 'tpm_limit', measure: 'tokens', window: 'minute', label: 'tokens per minute' },
  { field: 'tpd_limit', measure: 'tokens', window: 'day', label: 'tokens per day' },
  {
    field: 'max_parallel_requests',
    measure: 'concurrent_requests',
    window: null,
    label: 'concurrent requests',
  },
]

export function toRateLimits(owner: string, match: PlannedLimit['match'], budget: Budget): PlannedLimit[] {
  return rates.flatMap(({ field, measure, window, label }) => {
    const amount = budget[field]
    if (amount === null || amount === undefined) return []
    return [{ name: nameLimit(owner, label), measure, window, amount: Math.floor(amount), match, spend: 0n }]
  })
}

export function toSpendLimit(
  owner: string,
  match: PlannedLimit['match'],
  { max_budget: amount, budget_duration: duration }: Budget,
  spend: number | null | undefined,
): PlannedLimit[] {
  return toUsdLimit(owner, match, { amount, duration, spend })
}

/** Parts of a budget without a counterpart. */
export function listUnreadBudget(kind: string, name: string, budget: Budget): SkippedItem[] {
  const reasons = [
    ...(budget.soft_budget != null ? ['soft_budget: set up a notification: docs/notifications.md'] : []),
    ...(Object.keys(budget.model_max_budget ?? {}).length > 0
      ? ['model_max_budget: create limits with `match.models`: docs/limits.md']
      : []),
  ]
  return reasons.map((reason) => ({ kind, name, reason }))
}
