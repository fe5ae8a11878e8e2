import { type Interval, intervals } from './budget-intervals.ts'

/** The limit of each window in dollars; null for none. */
export type Budgets = Record<Interval, number | null>

export interface BudgetChange {
  interval: Interval
  limit: number | null
}

/**
 * The changes in an order in which the server accepts each: a longer window always needs a higher limit.
 * What is removed comes first; then limits fall from the shortest window on, then they rise from the longest.
 */
export function orderChanges(before: Budgets, after: Budgets): BudgetChange[] {
  const changes = intervals
    .map(({ value: interval }) => ({ interval, limit: after[interval], from: before[interval] }))
    .filter(({ limit, from }) => limit !== from)
  const removed = changes.filter(({ limit }) => limit === null)
  const lowered = changes.filter(({ limit, from }) => limit !== null && from !== null && limit < from)
  const raised = changes.filter((change) => !removed.includes(change) && !lowered.includes(change))
  return [...removed, ...lowered, ...raised.toReversed()].map(({ interval, limit }) => ({ interval, limit }))
}

/** The first pair of windows of which the longer has no higher limit; null if all are in order. */
export function findMisorder(budgets: Budgets): [shorter: Interval, longer: Interval] | null {
  const set = intervals.flatMap(({ value }) => {
    const limit = budgets[value]
    return limit === null ? [] : [{ interval: value, limit }]
  })
  for (const [index, { interval, limit }] of set.entries()) {
    const shorter = set[index - 1]
    if (shorter && shorter.limit >= limit) return [shorter.interval, interval]
  }
  return null
}
