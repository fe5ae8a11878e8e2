import { describe, expect, test } from 'bun:test'
import type { Endpoint } from '../catalogue/model.ts'
import { EndpointHealth, HealthRegistry, healthIdOf } from './health.ts'

const second = 1000
const minute = 60 * second
const at = 1_800_000_000_000

const down = { kind: 'provider_unavailable' } as const
const well = { firstTokenMs: 100, tokensPerSecond: 50 }

function failing(health: EndpointHealth, now: number, times: number): void {
  for (let count = 0; count < times; count++) {
    health.recordStart(now, false)
    health.recordFailure(now, down)
  }
}

function answering(health: EndpointHealth, now: number, times = 1): void {
  for (let count = 0; count < times; count++) {
    health.recordStart(now, false)
    health.recordSuccess(now, well)
  }
}

describe('the memory of thirty seconds', () => {
  test('one failure is remembered for thirty seconds, and not for longer than another one', () => {
    const health = new EndpointHealth()
    failing(health, at + 999, 1)
    expect(health.isUnstable(at + 999 + 30 * second - 1)).toBe(true)
    expect(health.isUnstable(at + 999 + 31 * second)).toBe(false)
  })

  test('fewer failures than one in ten are chance', () => {
    const health = new EndpointHealth()
    answering(health, at, 91)
    failing(health, at, 1)
    expect(health.isUnstable(at)).toBe(false)
    failing(health, at, 10)
    expect(health.isUnstable(at)).toBe(true)
  })

  test('too many requests are remembered, but are no failure of the endpoint', () => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind: 'rate_limit_exceeded' })
    expect(health.isUnstable(at)).toBe(true)
    expect(health.getStats(at).uptime5m).toBeNull()
  })

  test.each(['permission_denied', 'not_found'] as const)(
    '%s may be about one request: others are asked first, and that is all',
    (kind) => {
      const health = new EndpointHealth()
      for (let count = 0; count < 30; count++) health.recordFailure(at, { kind })
      expect([health.isUnstable(at), health.isEjected(at), health.getStats(at).uptime5m]).toEqual([
        true,
        false,
        null,
      ])
    },
  )

  test.each([
    'invalid_request',
    'payload_too_large',
    'unprocessable',
    'content_policy_violation',
    'refusal',
    'context_length_exceeded',
    'max_tokens_exceeded',
  ] as const)('%s says nothing about the endpoint', (kind) => {
    const health = new EndpointHealth()
    for (let count = 0; count < 30; count++) health.recordFailure(at, { kind })
    expect([health.isUnstable(at), health.isEjected(at), health.getStats(at).uptime5m]).toEqual([
      false,
      false,
      null,
    ])
  })

  test.each([
    'authentication',
    'payment_required',
    'provider_overloaded',
    'provider_unavailable',
    'server',
    'timeout',
  ] as const)('%s is a failure of the endpoint', (kind) => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind })
    expect([health.isUnstable(at), health.getStats(at).uptime5m]).toEqual([true, 0])
  })
})

describe('ejection', () => {
  test('after five failures in a row, for half a minute', () => {
    const health = new EndpointHealth()
    failing(health, at, 4)
    expect(health.isEjected(at)).toBe(false)
    failing(health, at, 1)
    expect(health.isEjected(at)).toBe(true)
    expect(health.isEjected(at + 30 * second - 1)).toBe(true)
    expect(health.isEjected(at + 30 * second)).toBe(false)
  })

  test('after half of twenty, though never five in a row', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 9; count++) {
      answering(health, at)
      failing(health, at, 1)
    }
    answering(health, at)
    expect(health.isEjected(at)).toBe(false)
    failing(health, at, 1)
    expect(health.isEjected(at)).toBe(true)
  })

  test('one request tries whether it is back, the others wait for how it went', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    expect(health.isEjected(back + 1)).toBe(true)
    health.recordSuccess(back + 2, well)
    expect(health.isEjected(back + 3)).toBe(false)
  })

  test('a trial that says nothing leaves the next one to another request', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    health.releaseTrial()
    expect(health.isEjected(back)).toBe(false)
    health.recordStart(back + 1, false)
    expect(health.isEjected(back + 2)).toBe(true)
  })

  test('a trial nothing is heard of is not waited for', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    expect(health.isEjected(back + 30 * second - 1)).toBe(true)
    expect(health.isEjected(back + 30 * second)).toBe(false)
  })

  test('twice as long each time a trial fails, five minutes at most', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const lasted: number[] = []
    for (let count = 0, now = at; count < 6; count++) {
      lasted.push((health.ejectedUntil - now) / second)
      now = health.ejectedUntil
      failing(health, now, 1)
    }
    expect(lasted).toEqual([30, 60, 120, 240, 300, 300])
  })

  test('many requests that fail together are one outage', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 100; count++) health.recordStart(at, false)
    for (let count = 0; count < 100; count++) health.recordFailure(at + count, down)
    expect(health.isEjected(at + 40 * second)).toBe(false)
  })

  test('one that comes back only to fail again is left out for longer', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const back = at + 30 * second
    answering(health, back, 50)
    failing(health, back + 40 * second, 5)
    expect(health.ejectedUntil - (back + 40 * second)).toBe(60 * second)
  })

  test('what has held out for ten minutes is forgiven', () => {
    const health = new EndpointHealth()
    failing(health, at, 5)
    const back = at + 30 * second
    answering(health, back)
    answering(health, at + 10 * minute + 1)
    const again = at + 11 * minute
    failing(health, again, 5)
    expect(health.ejectedUntil - again).toBe(30 * second)
  })
})

describe('hints', () => {
  test('a provider that asks to be left alone is, and a longer wish stands', () => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: 10 * second })
    health.recordFailure(at + 1, { kind: 'rate_limit_exceeded', retryAfterMs: second })
    expect(health.isCoolingDown(at + 10 * second - 1)).toBe(true)
    expect(health.isCoolingDown(at + 10 * second)).toBe(false)
  })

  test('of a request that was refused for what it says, nobody else has to wait', () => {
    const health = new EndpointHealth()
    for (const kind of ['invalid_request', 'permission_denied', 'content_policy_violation'] as const)
      health.recordFailure(at, { kind, retryAfterMs: minute })
    expect(health.isCoolingDown(at)).toBe(false)
  })

  test('after a wait that was cut short, one request tries whether it is back, and the others wait for that', () => {
    const health = new EndpointHealth()
    const wait = { kind: 'rate_limit_exceeded', retryAfterMs: 5 * minute, isRetryAfterCut: true } as const
    health.recordFailure(at, wait)
    const over = at + 5 * minute
    expect([health.isCoolingDown(over - 1), health.isCoolingDown(over), health.isEjected(over)]).toEqual([
      true,
      false,
      false,
    ])
    health.recordStart(over, false)
    expect(health.isEjected(over + 1)).toBe(true)
    health.recordFailure(over + second, wait)
    expect(health.isCoolingDown(over + 5 * minute)).toBe(true)
    const later = over + second + 5 * minute
    health.recordStart(later, false)
    health.recordSuccess(later, { firstTokenMs: 10, tokensPerSecond: null })
    expect([health.isCoolingDown(later), health.isEjected(later)]).toEqual([false, false])
  })
})

test('I12 a clock that is put back keeps no endpoint out for as long', () => {
  const day = 24 * 60 * minute
  const health = new EndpointHealth()
  failing(health, at, 5)
  health.recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  const before = at - day
  expect([health.isCoolingDown(before), health.isEjected(before), health.isUnstable(before)]).toEqual([
    false,
    false,
    false,
  ])
  expect(health.getStats(before).attempts30m).toBe(0)
  failing(health, before, 5)
  health.recordFailure(before, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  expect([
    health.isEjected(before),
    health.isCoolingDown(before),
    health.isCoolingDown(before + minute),
  ]).toEqual([true, true, false])
})

describe('I11 the retry budget', () => {
  test('is a fifth of the requests, their retries not counted', () => {
    const health = new EndpointHealth()
    const requests = 10_000
    let retries = 0
    for (let count = 0; count < requests; count++) {
      health.recordStart(at, false)
      if (!health.consumeRetryBudget()) continue
      retries += 1
      health.recordStart(at, true)
    }
    expect(retries / requests).toBeGreaterThan(0.199)
    expect(retries / requests).toBeLessThanOrEqual(0.2)
  })

  test('is saved up for twenty at most', () => {
    const health = new EndpointHealth()
    answering(health, at, 10_000)
    let retries = 0
    while (health.consumeRetryBudget()) {
      retries += 1
      health.recordStart(at, true)
    }
    expect(retries).toBeLessThanOrEqual(20)
    expect(retries).toBeGreaterThanOrEqual(19)
  })
})

describe('what is told of an endpoint', () => {
  test('uptime counts what succeeded and what failed, by window', () => {
    const health = new EndpointHealth()
    failing(health, at, 1)
    answering(health, at + 10 * minute, 3)
    const shown = health.getStats(at + 10 * minute)
    expect([shown.uptime5m, shown.uptime30m, shown.uptime1d]).toEqual([100, 75, 75])
    expect(health.getStats(at + 60 * minute).uptime30m).toBeNull()
    expect(health.getStats(at + 26 * 60 * minute).uptime1d).toBeNull()
  })

  test('speed is of the last five minutes', () => {
    const health = new EndpointHealth()
    answering(health, at)
    expect(health.getSpeed(at).latency?.p50).toBeCloseTo(100, -1)
    expect(health.getSpeed(at + 5 * minute + 31 * second).latency).toBeNull()
    expect(health.getStats(at + 6 * minute).throughput?.p50).toBeCloseTo(50, -1)
  })

  test('fifty replies with tool calls are needed to judge them', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 49; count++) health.recordToolCalls(at, count % 7 > 0)
    expect(health.getToolSuccess(at)).toBeNull()
    health.recordToolCalls(at, true)
    expect(health.getToolSuccess(at + second)).toBeCloseTo(43 / 50, 5)
    expect(health.getToolSuccess(at + 26 * 60 * minute)).toBeNull()
  })
})

test('what is known of the endpoints of a model is what is known of each', () => {
  const health = new HealthRegistry()
  const endpoints = ['a', 'b', 'c'].map((id) => ({ id }) as Endpoint)
  const isKnown = () => health.findAll(endpoints).map((known) => known !== null)
  expect(isKnown()).toEqual([false, false, false])
  const second = health.getOrCreate('b')
  expect(isKnown()).toEqual([false, true, false])
  expect(health.findAll(endpoints)[1]).toBe(second)
  health.getOrCreate('c')
  for (let count = 0; count < 20_000; count++) {
    health.getOrCreate(`another ${count}`)
    if (count % 1000 === 0) health.getOrCreate('c')
  }
  expect(isKnown()).toEqual([false, false, true])
})

test('S13 endpoints that are remembered are bounded, and those in use stay', () => {
  const health = new HealthRegistry()
  failing(health.getOrCreate('busy'), at, 5)
  for (let count = 0; count < 30_000; count++) {
    health.getOrCreate(`endpoint ${count}`)
    if (count % 1000 === 0) health.getOrCreate('busy')
  }
  expect(health.find('endpoint 0')).toBeNull()
  expect(health.find('busy')?.isEjected(at)).toBe(true)
})

test('however many keys of their own callers have, what is known of shared endpoints stays', () => {
  const health = new HealthRegistry()
  health
    .getOrCreate('acme/large alpha')
    .recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  const own = (count: number) => healthIdOf('acme/large alpha', `key-${count}`)
  for (let count = 0; count < 6000; count++) health.getOrCreate(own(count))
  expect(health.find('acme/large alpha')?.isCoolingDown(at)).toBe(true)
  expect([health.find(own(0)), health.find(own(5999))]).toEqual([null, expect.anything()])
})
