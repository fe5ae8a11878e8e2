import type { Schemas } from '../api/client.ts'

export type BudgetLimit = Schemas['BudgetLimit']
export type BudgetNode = Schemas['BudgetNode']
export type Interval = BudgetLimit['interval']

interface IntervalTexts {
  value: Interval
  /** The name of a choice. */
  label: string
  /** Text after an amount that is allowed: `$5.00 a day`. */
  each: string
  /** Text after an amount that is spent: `$2.00 today`. */
  current: string
}

/** Shortest first. They begin at 00:00 UTC, weeks on Monday. */
export const intervals: readonly IntervalTexts[] = [
  { value: 'daily', label: 'Day', each: 'a day', current: 'today' },
  { value: 'weekly', label: 'Week', each: 'a week', current: 'this week' },
  { value: 'monthly', label: 'Month', each: 'a month', current: 'this month' },
  { value: 'lifetime', label: 'All time', each: 'in total', current: 'so far' },
]

export function textsOf(interval: Interval): IntervalTexts {
  const texts = intervals.find(({ value }) => value === interval)
  if (!texts) throw new Error(`There is no interval ${interval}.`)
  return texts
}
