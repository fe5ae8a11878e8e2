import { expect, test } from 'bun:test'
import { type ComparedRequest, compareFields } from './compare-fields.ts'

const request: ComparedRequest['request'] = {
  ...{ id: 'gen-1', request_id: null, created_at: '2030-01-01T00:00:00.000Z', status: 'completed' },
  ...{ error_code: null, message: null, requested_model: 'a/b', model: 'a/b', provider: 'x' },
  ...{ provider_name: 'X', endpoint: 'x', key: null, user: null, app: null, format: 'chat' },
  ...{ workspace: { id: 'w', name: null }, api_type: null, streamed: false, is_byok: false },
  ...{ is_cached: false, session_id: null, preset_id: null, external_user: null, tags: ['a=b'] },
  ...{ tokens_prompt: 1000, tokens_completion: 2, tokens_cached: 0, cost: 0.000_001, total_cost: 0.000_001 },
  ...{ latency: 1200, first_token: null, finish_reason: 'stop', attempts: 1, requests: 1 },
}
const routing = { strategy: 'price', rule: null, splits: [], candidates: [], excluded: [] }
const differing = (one: ComparedRequest, other: ComparedRequest) =>
  compareFields(one, other)
    .filter(({ isDifferent }) => isDifferent)
    .map(({ label, values }) => [label, ...values])

test('a request is the same as itself', () => {
  const one = { request, routing: { ...routing, params: { sort: 'price' } } }
  expect(differing(one, one)).toEqual([])
})

test('what differs has both values, with the routing options by name', () => {
  const one = { request, routing: { ...routing, params: { only: ['x'] } } }
  const other = { request: { ...request, model: 'c/d', finish_reason: null }, routing: null }
  expect(differing(one, other)).toEqual([
    ['Model', 'a/b', 'c/d'],
    ['Finish reason', 'stop', '–'],
    ['Routing: only', '["x"]', '–'],
    ['Routing: strategy', 'price', '–'],
  ])
})

test('a long value is cut', () => {
  const other = { request: { ...request, session_id: 'x'.repeat(9000) }, routing: null }
  expect(differing({ request, routing: null }, other)[0]?.[2]).toHaveLength(501)
})
