import { expect, test } from 'bun:test'
import { describeAmount, describeCounter, describeMatch, describePer } from './limit-words.ts'

test('an amount is said with its measure and window', () => {
  const texts = [
    describeAmount({ measure: 'usd', amount: 5, window: 'day' }),
    describeAmount({ measure: 'input_tokens', amount: 200_000, window: 'minute' }),
    describeAmount({ measure: 'tokens', amount: 10, window: 'lifetime' }),
    describeAmount({ measure: 'concurrent_requests', amount: 8, window: null }),
  ]
  expect(texts).toEqual([
    '$5.00 a day',
    '200,000 input tokens a minute',
    '10 tokens in total',
    '8 concurrent requests',
  ])
})

test('a match names what people know, and what is counted separately', () => {
  const match = {
    ...{ workspace_id: 'w', user_id: 'u', key_hash: null, tier: 'free', guardrail_id: null, end_user: null },
    ...{ tags: ['project=apollo'], models: ['openai/*', 'acme/one'], providers: [] },
  }
  const names = { workspaceOf: () => 'Research', memberOf: () => 'Ada' }
  expect(describeMatch(match, names)).toEqual([
    'workspace Research',
    'member Ada',
    'tier free',
    'tag project=apollo',
    'models openai/*, acme/one',
  ])
  expect([describePer([]), describePer(['end_user', 'tag:project'])]).toEqual([
    null,
    'Separately for each end user and tag project',
  ])
})

test('a count is named by what people can read', () => {
  const texts = [{}, { key: '2' }, { end_user: 'ada', key: '2' }].map((counter) =>
    describeCounter(counter as Record<string, string>),
  )
  expect(texts).toEqual(['', 'highest key', 'ada'])
})
