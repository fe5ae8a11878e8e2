import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LearnedRate } from './learned-rate.ts'
import { LearnedRates } from './learned-rates.ts'
import type { RateUse } from './rate-use.ts'

const request: RateUse = { requests: 1, tokens: 100, input_tokens: 60, output_tokens: 40 }

function learned(remaining: number, resetMs = 60_000): LearnedRate {
  const rate = new LearnedRate()
  rate.learn([{ measure: 'requests', limit: 100, remaining, resetMs }], 0)
  return rate
}

test('a request fits while its share of the rate is not used', () => {
  expect(learned(31).estimateWait(request, 0.7, 0)).toBeNull()
  expect(learned(30).estimateWait(request, 0.7, 0)).toBeGreaterThan(0)
  expect(learned(30).estimateWait(request, 0.9, 0)).toBeNull()
  expect(learned(0).estimateWait(request, 1, 0)).toBeGreaterThan(0)
})

test('what is used decreases evenly until the reset, and the wait says when there is room', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 100 }),
      fc.integer({ min: 1, max: 300_000 }),
      fc.constantFrom(0.7, 0.9, 1),
      (remaining, resetMs, share) => {
        const rate = learned(remaining, resetMs)
        const wait = rate.estimateWait(request, share, 0)
        if (wait === null) return
        expect(wait).toBeLessThanOrEqual(resetMs)
        expect(rate.estimateWait(request, share, wait + 1)).toBeNull()
        if (wait > 2) expect(rate.estimateWait(request, share, wait - 1)).not.toBeNull()
      },
    ),
  )
})

test('what was sent since the report counts until it is reported', () => {
  const rate = learned(90)
  for (let sent = 0; sent < 60; sent++) {
    expect(rate.estimateWait(request, 0.7, 0)).toBeNull()
    rate.add(request, 0)
  }
  expect(rate.estimateWait(request, 0.7, 0)).not.toBeNull()
  rate.subtract(request, 0)
  expect(rate.estimateWait(request, 0.7, 0)).toBeNull()
})

test('a request whose reply takes longer than the window counts only within it', () => {
  const rate = learned(99, 600)
  for (let sent = 0; sent < 80; sent++) rate.add(request, 0)
  expect(rate.estimateWait(request, 0.7, 50_000)).not.toBeNull()
  expect(rate.estimateWait(request, 0.7, 70_000)).toBeNull()
  // A rate that is full again within a second counts only what was sent just now.
  rate.learn([{ measure: 'requests', limit: 100, remaining: 50, resetMs: 500 }], 70_000)
  for (let sent = 0; sent < 80; sent++) rate.add(request, 70_000)
  expect(rate.estimateWait(request, 0.7, 70_500)).not.toBeNull()
  expect(rate.estimateWait(request, 0.7, 74_000)).toBeNull()
})

test('a request that needs more than the whole rate passes when nothing else does', () => {
  const rate = new LearnedRate()
  rate.learn([{ measure: 'tokens', limit: 50, remaining: 50, resetMs: 1000 }], 0)
  expect(rate.estimateWait(request, 0.7, 0)).toBeNull()
  rate.add(request, 0)
  expect(rate.estimateWait(request, 0.7, 0)).not.toBeNull()
})

test('an old report says nothing', () => {
  expect(learned(0, 300_000).estimateWait(request, 0.7, 11 * 60_000)).toBeNull()
})

test('the number of endpoints is bounded, and those with BYOK keys displace only one another', () => {
  const rates = new LearnedRates()
  const report = [{ measure: 'requests', limit: 1, remaining: 1, resetMs: 1 }] as const
  for (let index = 0; index < 8050; index++) rates.learn(`endpoint ${index}`, report, 0)
  for (let index = 0; index < 2050; index++) rates.learn(`own key${index} endpoint`, report, 0)
  expect(rates.size).toBe(10_000)
  for (const [id, isKnown] of [
    ['endpoint 0', false],
    ['endpoint 50', true],
    ['own key49 endpoint', false],
    ['own key50 endpoint', true],
  ] as const)
    expect(rates.has(id)).toBe(isKnown)
})
