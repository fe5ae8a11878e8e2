import { expect, test } from 'bun:test'
import { type Budgets, findMisorder, orderChanges } from './budget-changes.ts'
import { intervals } from './budget-intervals.ts'

const none: Budgets = { daily: null, weekly: null, monthly: null, lifetime: null }

const cases: [string, Budgets, Budgets][] = [
  ['first budgets', none, { ...none, daily: 1, weekly: 2, monthly: 3, lifetime: 4 }],
  ['all higher', { ...none, daily: 5, monthly: 40 }, { ...none, daily: 50, monthly: 400 }],
  ['all lower', { ...none, daily: 50, monthly: 400 }, { ...none, daily: 5, monthly: 40 }],
  ['one removed, another set beyond it', { ...none, weekly: 9 }, { ...none, daily: 10 }],
  [
    'a new one between others that fall',
    { ...none, daily: 5, monthly: 9 },
    { ...none, daily: 1, weekly: 3, monthly: 6 },
  ],
  ['one rises, one falls', { ...none, daily: 1, weekly: 9 }, { ...none, daily: 4, weekly: 5 }],
]

test.each(cases)('%s: the server accepts every step', (_, before, after) => {
  let budgets = before
  for (const { interval, limit } of orderChanges(before, after)) {
    budgets = { ...budgets, [interval]: limit }
    expect(findMisorder(budgets)).toBeNull()
  }
  expect(budgets).toEqual(after)
})

test('nothing is sent for what did not change', () => {
  const same = { ...none, daily: 1 }
  expect(orderChanges(same, { ...same })).toEqual([])
})

test('a longer window needs a higher limit', () => {
  expect(intervals).toHaveLength(4)
  expect(findMisorder({ ...none, daily: 5, monthly: 5 })).toEqual(['daily', 'monthly'])
  expect(findMisorder({ ...none, daily: 5, monthly: 6 })).toBeNull()
})
