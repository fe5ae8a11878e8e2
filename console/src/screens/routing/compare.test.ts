import { expect, test } from 'bun:test'
import { findDifference, listCandidates, type Outcome, type Quote, sumExpected } from './compare.ts'

const price = { prompt: 1, completion: 1, worst_case: 2, expected: 1 }
const available = (tag: string, rank: number, model = 'a/b') => ({
  model,
  provider: tag,
  selected: false,
  tag,
  rank,
  why: 'price',
  reason: 'cheapest',
  price,
  health: null,
})
const excluded = (tag: string, reason = 'ignored') => ({
  model: 'a/b',
  provider: tag,
  tag,
  reason,
  detail: reason,
})

function quote(fields: {
  available?: readonly unknown[]
  excluded?: readonly unknown[]
  would?: string
  expected?: number | null
}): Quote {
  const { available: candidates = [], excluded: others = [], would = 'be_sent', expected = 1 } = fields
  return {
    endpoints: { total: 0, available: candidates, excluded: others },
    price: { worst_case: 2, expected },
    would,
  } as unknown as Quote
}
const outcome = (fields: Parameters<typeof quote>[0]): Outcome => ({ quote: quote(fields), problem: null })

test('candidates stand in the new order, and those that moved are marked', () => {
  const before = quote({ available: [available('x', 1), available('y', 2), available('z', 3)] })
  const after = quote({ available: [available('z', 1), available('y', 2)], excluded: [excluded('x')] })
  expect(listCandidates(before, after).map(({ tag, isDifferent }) => [tag, isDifferent])).toEqual([
    ['z', true],
    ['y', false],
    ['x', true],
  ])
})

test('an endpoint of one side only is listed', () => {
  const rows = listCandidates(quote({}), quote({ available: [available('x', 1)] }))
  expect(rows).toMatchObject([{ tag: 'x', before: null, isDifferent: true }])
})

test.each([
  ['same', { available: [available('x', 1)] }],
  ['endpoint', { available: [available('y', 1)] }],
  ['model', { available: [available('x', 1, 'c/d')] }],
  ['price', { available: [available('x', 1)], expected: 2 }],
  ['order', { available: [available('x', 1)], excluded: [excluded('y')] }],
  ['refused', { would: 'be_refused' }],
] as const)('the difference is: %s', (difference, fields) => {
  const before = outcome({ available: [available('x', 1)] })
  expect(findDifference(before, outcome(fields))).toBe(difference)
})

test('errors can be compared only if they are the same', () => {
  const failed: Outcome = { quote: null, problem: 'model: does not exist' }
  expect(findDifference(failed, failed)).toBe('same')
  expect(findDifference(failed, outcome({}))).toBe('problem')
  expect(findDifference(outcome({ would: 'be_refused' }), outcome({}))).toBe('allowed')
})

test('requests that are refused cost nothing, and an unknown price has no sum', () => {
  expect(sumExpected([outcome({}), outcome({ would: 'be_refused' }), { quote: null, problem: '' }])).toBe(1)
  expect(sumExpected([outcome({}), outcome({ expected: null })])).toBeNull()
})
