import { expect, test } from 'bun:test'
import { type ReplyFigures, sumUp } from './totals.ts'

const reply = (prompt: number, model: number, changes: Partial<ReplyFigures> = {}): ReplyFigures => ({
  ...{ prompt, model, has_error: 0, cost_nanos: 1_000n, first_token_ms: 100, latency_ms: 300 },
  ...changes,
})

test('adds up votes, costs and times of each model', () => {
  const replies = [
    reply(0, 0),
    reply(1, 0, { cost_nanos: 2_000n, first_token_ms: null, latency_ms: 500 }),
    reply(0, 1, { has_error: 1, cost_nanos: null, first_token_ms: null, latency_ms: null }),
  ]
  const counts = [
    { prompt: 0, model: 0, count: 2 },
    { prompt: 0, model: 1, count: 1 },
  ]
  expect(sumUp(['a', 'b', 'c'], replies, counts)).toEqual([
    { model: 'a', replies: 2, votes: 2, wins: 1, cost: 0.000003, latency: 300, generation_time: 400 },
    { model: 'b', replies: 0, votes: 1, wins: 0, cost: 0, latency: null, generation_time: null },
    { model: 'c', replies: 0, votes: 0, wins: 0, cost: 0, latency: null, generation_time: null },
  ])
})

test('a tie is no win', () => {
  const counts = [
    { prompt: 0, model: 0, count: 3 },
    { prompt: 0, model: 1, count: 3 },
    { prompt: 1, model: 1, count: 1 },
  ]
  expect(sumUp(['a', 'b'], [], counts).map(({ wins }) => wins)).toEqual([0, 1])
})
