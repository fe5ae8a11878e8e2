import { describe, expect, test } from 'bun:test'
import type { Endpoint } from '../model.ts'
import { EndpointHealth } from './health.ts'
import { healthIdOf } from './health-id.ts'
import { HealthRegistry } from './health-registry.ts'

const second = 1000
const minute = 60 * second
const at = 1_800_000_000_000

const down = { kind: 'provider_unavailable' } as const
const well = { firstTokenMs: 100, tokensPerSecond: 50 }

function recordFailures(health: EndpointHealth, now: number, times: number): void {
  for (let count = 0; count < times; count++) {
    health.recordStart(now, false)
    health.recordFailure(now, down)
  }
}

function recordSuccesses(health: EndpointHealth, now: number, times = 1): void {
  for (let count = 0; count < times; count++) {
    health.recordStart(now, false)
    health.recordSuccess(now, well)
  }
}

describe('instability', () => {
  test('a failure counts for thirty seconds', () => {
    const health = new EndpointHealth()
    recordFailures(health, at + 999, 1)
    expect(health.isUnstable(at + 999 + 30 * second - 1)).toBe(true)
    expect(health.isUnstable(at + 999 + 31 * second)).toBe(false)
  })

  test('less than one failure in ten attempts is not unstable', () => {
    const health = new EndpointHealth()
    recordSuccesses(health, at, 91)
    recordFailures(health, at, 1)
    expect(health.isUnstable(at)).toBe(false)
    recordFailures(health, at, 10)
    expect(health.isUnstable(at)).toBe(true)
  })

  test('a rate limit makes an endpoint unstable, but does not lower its uptime', () => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind: 'rate_limit_exceeded' })
    expect(health.isUnstable(at)).toBe(true)
    expect(health.getStats(at).uptime5m).toBeNull()
  })

  test.each(['permission_denied', 'not_found'] as const)(
    '%s may concern one request: the endpoint is unstable, but neither ejected nor down',
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
  ] as const)('%s does not count against the endpoint', (kind) => {
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
  ] as const)('%s counts against the endpoint', (kind) => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind })
    expect([health.isUnstable(at), health.getStats(at).uptime5m]).toEqual([true, 0])
  })
})

describe('ejection', () => {
  test('after five failures in a row, for 30 seconds', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 4)
    expect(health.isEjected(at)).toBe(false)
    recordFailures(health, at, 1)
    expect(health.isEjected(at)).toBe(true)
    expect(health.isEjected(at + 30 * second - 1)).toBe(true)
    expect(health.isEjected(at + 30 * second)).toBe(false)
  })

  test('after failures of half of twenty attempts, though never five in a row', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 9; count++) {
      recordSuccesses(health, at)
      recordFailures(health, at, 1)
    }
    recordSuccesses(health, at)
    expect(health.isEjected(at)).toBe(false)
    recordFailures(health, at, 1)
    expect(health.isEjected(at)).toBe(true)
  })

  test('one request tests whether the endpoint has recovered, the others wait for the result', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    expect(health.isEjected(back + 1)).toBe(true)
    health.recordSuccess(back + 2, well)
    expect(health.isEjected(back + 3)).toBe(false)
  })

  test('after an inconclusive trial another request makes the next one', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    health.releaseTrial()
    expect(health.isEjected(back)).toBe(false)
    health.recordStart(back + 1, false)
    expect(health.isEjected(back + 2)).toBe(true)
  })

  test('a trial without a result expires', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const back = at + 30 * second
    health.recordStart(back, false)
    expect(health.isEjected(back + 30 * second - 1)).toBe(true)
    expect(health.isEjected(back + 30 * second)).toBe(false)
  })

  test('twice as long each time a trial fails, five minutes at most', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const durations: number[] = []
    for (let count = 0, now = at; count < 6; count++) {
      durations.push((health.ejectedUntil - now) / second)
      now = health.ejectedUntil
      recordFailures(health, now, 1)
    }
    expect(durations).toEqual([30, 60, 120, 240, 300, 300])
  })

  test('many requests that fail together are one outage', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 100; count++) health.recordStart(at, false)
    for (let count = 0; count < 100; count++) health.recordFailure(at + count, down)
    expect(health.isEjected(at + 40 * second)).toBe(false)
  })

  test('an endpoint that fails again soon after its recovery is ejected for longer', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const back = at + 30 * second
    recordSuccesses(health, back, 50)
    recordFailures(health, back + 40 * second, 5)
    expect(health.ejectedUntil - (back + 40 * second)).toBe(60 * second)
  })

  test('after ten stable minutes the ejection time is reset', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 5)
    const back = at + 30 * second
    recordSuccesses(health, back)
    recordSuccesses(health, at + 10 * minute + 1)
    const again = at + 11 * minute
    recordFailures(health, again, 5)
    expect(health.ejectedUntil - again).toBe(30 * second)
  })
})

describe('cooldown', () => {
  test('follows Retry-After, and a shorter one does not replace a longer one', () => {
    const health = new EndpointHealth()
    health.recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: 10 * second })
    health.recordFailure(at + 1, { kind: 'rate_limit_exceeded', retryAfterMs: second })
    expect(health.isCoolingDown(at + 10 * second - 1)).toBe(true)
    expect(health.isCoolingDown(at + 10 * second)).toBe(false)
  })

  test('a rejected request does not start a cooldown for others', () => {
    const health = new EndpointHealth()
    for (const kind of ['invalid_request', 'permission_denied', 'content_policy_violation'] as const)
      health.recordFailure(at, { kind, retryAfterMs: minute })
    expect(health.isCoolingDown(at)).toBe(false)
  })

  test('after a Retry-After that was cut, one request tests the endpoint and the others wait for the result', () => {
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

test('I12 a clock that is set back does not prolong a cooldown or an ejection', () => {
  const day = 24 * 60 * minute
  const health = new EndpointHealth()
  recordFailures(health, at, 5)
  health.recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  const before = at - day
  expect([health.isCoolingDown(before), health.isEjected(before), health.isUnstable(before)]).toEqual([
    false,
    false,
    false,
  ])
  expect(health.getStats(before).attempts30m).toBe(0)
  recordFailures(health, before, 5)
  health.recordFailure(before, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  expect([
    health.isEjected(before),
    health.isCoolingDown(before),
    health.isCoolingDown(before + minute),
  ]).toEqual([true, true, false])
})

describe('I11 the retry budget', () => {
  test('is a fifth of the requests, not counting retries', () => {
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

  test('accumulates to twenty at most', () => {
    const health = new EndpointHealth()
    recordSuccesses(health, at, 10_000)
    let retries = 0
    while (health.consumeRetryBudget()) {
      retries += 1
      health.recordStart(at, true)
    }
    expect(retries).toBeLessThanOrEqual(20)
    expect(retries).toBeGreaterThanOrEqual(19)
  })
})

describe('statistics', () => {
  test('uptime counts successes and failures per window', () => {
    const health = new EndpointHealth()
    recordFailures(health, at, 1)
    recordSuccesses(health, at + 10 * minute, 3)
    const stats = health.getStats(at + 10 * minute)
    expect([stats.uptime5m, stats.uptime30m, stats.uptime1d]).toEqual([100, 75, 75])
    expect(health.getStats(at + 60 * minute).uptime30m).toBeNull()
    expect(health.getStats(at + 26 * 60 * minute).uptime1d).toBeNull()
  })

  test('speed covers the last five minutes', () => {
    const health = new EndpointHealth()
    recordSuccesses(health, at)
    expect(health.getSpeed(at).latency?.p50).toBeCloseTo(100, -1)
    expect(health.getSpeed(at + 5 * minute + 31 * second).latency).toBeNull()
    expect(health.getStats(at + 6 * minute).throughput?.p50).toBeCloseTo(50, -1)
  })

  test('the success rate of tool calls needs fifty replies', () => {
    const health = new EndpointHealth()
    for (let count = 0; count < 49; count++) health.recordToolCalls(at, count % 7 > 0)
    expect(health.getToolSuccess(at)).toBeNull()
    health.recordToolCalls(at, true)
    expect(health.getToolSuccess(at + second)).toBeCloseTo(43 / 50, 5)
    expect(health.getToolSuccess(at + 26 * 60 * minute)).toBeNull()
  })
})

test('the health of all endpoints of a model is that of each', () => {
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

test('S13 the number of recorded endpoints is bounded, and those in use stay', () => {
  const health = new HealthRegistry()
  recordFailures(health.getOrCreate('busy'), at, 5)
  for (let count = 0; count < 30_000; count++) {
    health.getOrCreate(`endpoint ${count}`)
    if (count % 1000 === 0) health.getOrCreate('busy')
  }
  expect(health.find('endpoint 0')).toBeNull()
  expect(health.find('busy')?.isEjected(at)).toBe(true)
})

test('the health of shared endpoints is not evicted by BYOK keys', () => {
  const health = new HealthRegistry()
  health
    .getOrCreate('acme/large alpha')
    .recordFailure(at, { kind: 'rate_limit_exceeded', retryAfterMs: minute })
  const byokId = (count: number) => healthIdOf('acme/large alpha', `key-${count}`)
  for (let count = 0; count < 6000; count++) health.getOrCreate(byokId(count))
  expect(health.find('acme/large alpha')?.isCoolingDown(at)).toBe(true)
  expect([health.find(byokId(0)), health.find(byokId(5999))]).toEqual([null, expect.anything()])
})
