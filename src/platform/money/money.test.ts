import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { nanosFromUsd, usdFromNanos } from './money.ts'
import { usdAmount } from './money-schema.ts'

describe('money', () => {
  test.each([
    [0.1, 100_000_000n],
    ['0.1', 100_000_000n],
    [1e-9, 1n],
    ['0.000000001', 1n],
    [123456789.12345679, 123_456_789_123_456_790n],
    ['1.0000000001', undefined],
    [1e-10, undefined],
    ['1e3', undefined],
    ['', undefined],
    ['-2.5', -2_500_000_000n],
    [1_000_000_000, 1_000_000_000_000_000_000n],
  ])('%p USD is %p nano-dollars', (usd, nanos) => {
    expect(nanosFromUsd(usd)).toBe(nanos)
  })

  test('R12 an amount reads back as the number that was sent', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 9_007_199_254 }),
        fc.integer({ min: 0, max: 6 }),
        (units, decimals) => {
          const sent = Number((units / 10 ** decimals).toFixed(decimals))
          const nanos = nanosFromUsd(sent)
          expect(nanos).toBeDefined()
          expect(usdFromNanos(nanos ?? 0n)).toBe(sent)
        },
      ),
    )
  })

  test('converting to USD and back is exact as far as a double is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), (nanos) => {
        expect(nanosFromUsd(usdFromNanos(nanos).toFixed(9))).toBe(nanos)
      }),
    )
  })

  test.each([
    [0.123456789012, 123456789n],
    [0.1234567895, 123456790n],
    [0.0000000005, 0n],
    [0.0000000015, 2n],
    [0.0000000025, 2n],
    [2.5e-9, 2n],
    [1e-12, 0n],
    [0.1 + 0.2, 300000000n],
  ])('rounds %p to the nearest nano-dollar, and halves to the even one', (amount, nanos) => {
    expect(usdAmount.parse(amount)).toBe(nanos)
  })

  test('an amount of any precision is at most half a nano-dollar from what is stored', () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1000, noNaN: true }), (amount) => {
        const nanos = usdAmount.parse(amount)
        expect(Math.abs(Number(nanos) - amount * 1e9)).toBeLessThanOrEqual(0.5 + 1e-3)
        expect(usdAmount.parse(usdFromNanos(nanos))).toBe(nanos)
      }),
    )
  })

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e12])('rejects %p', (amount) => {
    expect(usdAmount.safeParse(amount).success).toBe(false)
  })
})
