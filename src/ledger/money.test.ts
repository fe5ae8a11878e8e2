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

  test.each([-1, Number.NaN, Number.POSITIVE_INFINITY, 1e12, 0.123456789012])('rejects %p', (amount) => {
    expect(usdAmount.safeParse(amount).success).toBe(false)
  })
})
