import type { LimitWindow } from '../../governance/limits/limit-rule.ts'
import type { LimitReset } from '../../platform/db/schema.ts'
import { maxUsd, roundToNanos } from '../../platform/money/money.ts'
import { toSingleLine } from '../../platform/validation/name-schema.ts'
import type { PlannedBudget, PlannedLimit } from './import-plan.ts'

const secondsOf: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
  mo: 2_678_400,
  M: 2_678_400,
  Q: 7_948_800,
  y: 31_622_400,
  Y: 31_622_400,
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

function toSeconds(duration: string): number {
  const [, count = '', unit = ''] = /^(\d+)(mo|[smhdwMQyY])$/.exec(duration) ?? []
  return Number(count) * (secondsOf[unit] ?? Number.NaN)
}

export function toWindow(duration: string | null | undefined): BudgetWindow {
  if (!duration) return { reset: null, window: 'lifetime', isStricter: false }
  const seconds = toSeconds(duration)
  const found = windows.find(({ to }) => seconds <= to)
  if (!found) return { reset: null, window: 'lifetime', isStricter: true }
  const { reset, window, from } = found
  return { reset, window, isStricter: seconds < from }
}

/** Nano-dollars of an amount that another gateway keeps as a floating-point number. */
export function toNanos(amount: number | null | undefined): bigint {
  if (!amount || amount <= 0) return 0n
  return roundToNanos(Math.min(amount, maxUsd)) ?? 0n
}

const maxNameLength = 100

/** The name of a limit: what is limited, and by what. */
export function nameLimit(owner: string, label: string): string {
  return `${toSingleLine(owner).slice(0, maxNameLength - label.length - 2)}: ${label}`
}

const rateSeconds: readonly { window: LimitWindow; seconds: number }[] = [
  { window: 'second', seconds: 1 },
  { window: 'minute', seconds: 60 },
  { window: 'hour', seconds: 3600 },
  { window: 'day', seconds: day },
  { window: 'week', seconds: 7 * day },
  { window: 'month', seconds: 31 * day },
]

/** A rate in the shortest window that is not shorter than its duration: it allows no more. */
export function toRateWindow(duration: string | null | undefined): {
  window: LimitWindow
  isStricter: boolean
} {
  if (!duration) return { window: 'lifetime', isStricter: false }
  const seconds = toSeconds(duration)
  const found = rateSeconds.find((one) => seconds <= one.seconds)
  if (!found) return { window: 'lifetime', isStricter: true }
  const isMonth = found.window === 'month' && seconds >= 28 * day
  return { window: found.window, isStricter: seconds < found.seconds && !isMonth }
}

/** What is said about a budget whose window does not exist here. */
export function describeStricter(duration: string, reset: LimitReset | null): string {
  return `there is no window of ${duration}: the budget is ${reset ?? 'for all time'}, which allows less`
}

/** A budget in dollars; `skip` gets what is different about its window. */
export function toPlannedBudget(
  amount: number | null | undefined,
  duration: string | null | undefined,
  skip: (reason: string) => void,
): PlannedBudget | null {
  if (amount === null || amount === undefined) return null
  const { reset, isStricter } = toWindow(duration)
  if (isStricter && duration) skip(describeStricter(duration, reset))
  return { amount: toNanos(amount), reset }
}

/** A limit in dollars of what has no budget of its own here. */
export function toUsdLimit(
  owner: string,
  match: PlannedLimit['match'],
  budget: {
    amount: number | null | undefined
    duration: string | null | undefined
    spend: number | null | undefined
  },
): PlannedLimit[] {
  const { amount, duration, spend } = budget
  if (amount === null || amount === undefined) return []
  const { window } = toWindow(duration)
  const usd = Math.min(amount, maxUsd)
  return [
    { name: nameLimit(owner, 'budget'), measure: 'usd', window, amount: usd, match, spend: toNanos(spend) },
  ]
}
