import { expect, test } from 'bun:test'
import { type WaterfallSource, waterfallOf } from './waterfall.ts'

const attempt = {
  model: 'a/b',
  provider: 'Alpha',
  tag: 'alpha',
  status: 503,
  outcome: 'overloaded',
  provider_code: null,
  message: null,
}
const line: WaterfallSource['lines'][number] = {
  ...{
    kind: 'tool' as const,
    name: 'web_search',
    provider: 'exa',
    quantity: 5,
    duration: 30,
    cost: 0,
    started: 60,
  },
  ...{ tokens_prompt: null, tokens_completion: null, generation_id: null },
}
const createdAt = '2030-01-01T00:00:00.000Z'

function barsOf({
  lines = [],
  nested = [],
  ...explanation
}: Omit<WaterfallSource['explanation'], 'created_at'> & Partial<WaterfallSource>) {
  return waterfallOf({ explanation: { ...explanation, created_at: createdAt }, lines, nested }).bars
}

test('bars share one scale', () => {
  const bars = barsOf({
    stages: [
      { name: 'gateway', started: 0, duration: 10 },
      { name: 'reply', started: 10, duration: 90 },
    ],
    attempts: [{ ...attempt, started: 10, duration: 40 }],
  })
  expect(bars.map(({ left, width }) => [left, width])).toEqual([
    [0, 10],
    [10, 90],
    [10, 40],
  ])
  expect(bars[2]).toMatchObject({
    label: 'Attempt 1: Alpha',
    kind: 'failure',
    detail: 'a/b, overloaded, HTTP 503',
  })
})

test('tools and nested requests have their places', () => {
  const nested = {
    id: 'gen-2',
    created_at: '2030-01-01T00:00:00.050Z',
    latency: 100,
    status: 'failed',
  } as const
  const bars = barsOf({
    stages: [{ name: 'reply', started: 0, duration: 200 }],
    attempts: [],
    lines: [
      { ...line, kind: 'turn', name: 'a/b' },
      line,
      { ...line, kind: 'request', name: 'c/d', provider: null, quantity: 1, generation_id: 'gen-2' },
    ],
    nested: [nested],
  })
  expect(bars.map(({ label }) => label)).toEqual(['Reply', 'Tool: web_search × 5', 'Nested request: c/d'])
  expect(bars[1]).toMatchObject({ left: 30, duration: 30, detail: 'exa', requestId: null })
  expect(bars[2]).toMatchObject({
    left: 25,
    width: 50,
    kind: 'failure',
    detail: 'failed',
    requestId: 'gen-2',
  })
})

test('a tool of which no start was recorded has no place', () => {
  const [bar] = barsOf({ stages: [], attempts: [], lines: [{ ...line, started: null }] })
  expect(bar).toMatchObject({ left: null, duration: 30 })
})

test('several turns are shown one by one', () => {
  const turn = { ...line, kind: 'turn' as const, name: 'a/b', quantity: 1 }
  const bars = barsOf({ stages: [], attempts: [], lines: [turn, turn] })
  expect(bars.map(({ label }) => label)).toEqual(['Turn: a/b', 'Turn: a/b'])
})

test('a bar can be seen and stays inside, and what has no start has no place', () => {
  const bars = barsOf({
    stages: [{ name: 'reply', started: 0, duration: 100 }],
    attempts: [
      { ...attempt, started: 100, duration: 0 },
      { ...attempt, started: null, duration: null },
    ],
  })
  for (const { left, width } of bars) {
    expect(width).toBeGreaterThan(0)
    expect((left ?? 0) + width).toBeLessThanOrEqual(100)
  }
  expect(bars.at(-1)?.left).toBeNull()
})

test('a request that took no time has bars', () => {
  expect(barsOf({ stages: [{ name: 'gateway', started: 0, duration: 0 }], attempts: [] })).toHaveLength(1)
})
