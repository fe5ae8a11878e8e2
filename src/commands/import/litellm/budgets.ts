import type { LimitMeasure, LimitWindow } from '../../../governance/limits/limit-rule.ts'
import type { LimitReset } from '../../../platform/db/schema.ts'
import { maxUsd, roundToNanos } from '../../../platform/money/money.ts'
import { toSingleLine } from '../../../platform/validation/name-schema.ts'
import type { PlannedBudget, PlannedLimit, SkippedItem } from '../import-plan.ts'
import type { Budget } from './database-rows.ts'

const secondsOf: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  mo: 2_678_400,
}

const day = 86_400
const windows: readonly { reset: LimitReset; window: LimitWindow; from: number; to: number }[] = [
  { reset: 'daily', window: 'day', from: day, to: day },
  { reset: 'weekly', window: 'week', from: 7 * day, to: 7 * day },
  { reset: 'monthly', window: 'month', from: 28 * day, to: 31 * day },
]

/** The window of a duration such as `30d`. */
export interface BudgetWindow {
  /** Null: the budget never resets. */
  reset: LimitReset | null
  window: LimitWindow
  /** Whether there is no such window, and this longer one allows less. */
  isStricter: boolean
}

export function toWindow(duration: string | null | undefined): BudgetWindow {
  if (!duration) return { reset: null, window: 'lifetime', isStricter: false }
  const [, count = '', unit = ''] = /^(\d+)(mo|[smhdw])$/.exec(duration) ?? []
  const seconds = Number(count) * (secondsOf[unit] ?? Number.NaN)
  const found = windows.find(({ to }) => seconds <= to)
  if (!found) return { reset: null, window: 'lifetime', isStricter: true }
  const { reset, window, from } = found
  return { reset, window, isStricter: seconds < from }
}

/** Nano-dollars; LiteLLM has floating-point numbers. */
export function toNanos(amount: number | null | undefined): bigint {
  if (!amount || amount <= 0) return 0n
  return roundToNanos(Math.min(amount, maxUsd)) ?? 0n
}

/** The budget in dollars, and what is said about its window. */
export function toBudget(
  { max_budget, budget_duration }: Budget,
  skipped: (reason: string) => void,
): PlannedBudget | null {
  if (max_budget === null || max_budget === undefined) return null
  const { reset, isStricter } = toWindow(budget_duration)
  if (isStricter)
    skipped(
      `there is no window of ${budget_duration}: the budget is ${reset ?? 'for all time'}, which allows less`,
    )
  return { amount: toNanos(max_budget), reset }
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

const maxNameLength = 100

/** The name of a limit: what is limited, and by what. */
export function nameLimit(owner: string, label: string): string {
  return `${toSingleLine(owner).slice(0, maxNameLength - label.length - 2)}: ${label}`
}

export function toRateLimits(owner: string, match: PlannedLimit['match'], budget: Budget): PlannedLimit[] {
  return rates.flatMap(({ field, measure, window, label }) => {
    const amount = budget[field]
    if (amount === null || amount === undefined) return []
    return [{ name: nameLimit(owner, label), measure, window, amount: Math.floor(amount), match, spend: 0n }]
  })
}

/** A limit in dollars of what has no budget of its own here. */
export function toSpendLimit(
  owner: string,
  match: PlannedLimit['match'],
  budget: Budget,
  spend: number | null | undefined,
): PlannedLimit[] {
  const { max_budget: amount, budget_duration: duration } = budget
  if (amount === null || amount === undefined) return []
  const { window } = toWindow(duration)
  const usd = Math.min(amount, maxUsd)
  return [
    { name: nameLimit(owner, 'budget'), measure: 'usd', window, amount: usd, match, spend: toNanos(spend) },
  ]
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
