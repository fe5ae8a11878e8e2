import { expect, test } from 'bun:test'
import { type SessionRequest, timelineOf, totalsOf } from './timeline.ts'

function request(id: string, seconds: number, changes: Partial<SessionRequest> = {}): SessionRequest {
  const created_at = new Date(Date.UTC(2026, 10, 16, 12, 0, seconds)).toISOString()
  return {
    ...{ id, created_at, status: 'completed', model: 'a/b', latency: 1000, cost: 0.1, total_cost: 0.1 },
    ...{ tokens_prompt: 10, tokens_completion: 5, requests: 1, lines: [] },
    ...changes,
  } as SessionRequest
}

const line = {
  ...{ provider: null, started: null, quantity: 1, cost: 0.01 },
  ...{ tokens_prompt: null, tokens_completion: null },
}

test('requests are in order of time, with their tools and nested requests below', () => {
  const rows = timelineOf([
    request('third', 9, { status: 'failed' }),
    request('nested', 2, { latency: 500 }),
    request('first', 0, {
      latency: 4000,
      lines: [
        { ...line, kind: 'turn', name: 'a/b', duration: 100, generation_id: null },
        { ...line, kind: 'tool', name: 'web_search', quantity: 3, duration: 200, generation_id: null },
        { ...line, kind: 'request', name: 'c/d', duration: 500, generation_id: 'nested' },
        { ...line, kind: 'request', name: 'e/f', duration: 500, generation_id: 'older' },
      ],
    }),
  ])
  expect(
    rows.map(({ depth, label, requestId, left, width }) => [depth, label, requestId, left, width]),
  ).toEqual([
    [0, 'a/b', 'first', 0, 40],
    [1, 'web_search × 3', null, null, 0],
    [1, 'a/b', 'nested', 20, 5],
    [1, 'e/f', 'older', null, 0],
    [0, 'a/b', 'third', 90, 10],
  ])
})

test('the sum over all requests counts every charge once', () => {
  const requests = [
    request('b', 9, { status: 'failed', tokens_prompt: null, cost: 0 }),
    request('a', 0, { total_cost: 0.3 }),
  ]
  expect(totalsOf(requests)).toEqual({ requests: 2, errors: 1, cost: 0.1, tokens: 15, duration: 10_000 })
  expect(totalsOf([]).duration).toBe(0)
})
