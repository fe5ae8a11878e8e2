import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { divide, shiftLeft } from './decimal.ts'

/** The value of a plain decimal in units of 10^-40. */
function units(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(40, '0'))
}

/** Typical prices: up to nine digits and twelve decimals. */
const prices = fc
  .tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 12 }))
  .map(([digits, decimals]) => ({ text: plain(digits, decimals), value: Number(`${digits}e-${decimals}`) }))

function plain(digits: number, decimals: number): string {
  const padded = String(digits).padStart(decimals + 1, '0')
  return decimals === 0 ? padded : `${padded.slice(0, -decimals)}.${padded.slice(-decimals)}`
}

test('shifting the decimal point is exact: a million tokens cost the price per million', () => {
  fc.assert(
    fc.property(prices, fc.integer({ min: 0, max: 9 }), ({ text, value }, places) => {
      const shifted = shiftLeft(value, places)
      expect(shifted).toMatch(/^(0|[1-9]\d*)(\.\d*[1-9])?$/)
      expect(units(shifted) * 10n ** BigInt(places)).toBe(units(text))
    }),
  )
})

test.each([
  [2.5, '0.0000025'],
  [0.3, '0.0000003'],
  [0.003625, '0.000000003625'],
  [1e-7, '0.0000000000001'],
  [0.08333333333333334, '0.00000008333333333333334'],
  [30, '0.00003'],
  [0, '0'],
  [2_000_000, '2'],
])('%p per million is %p each', (perMillion, each) => {
  expect(shiftLeft(perMillion, 6)).toBe(each)
})

test.each([
  [0.36, '0.0001'],
  [0.18, '0.00005'],
  [0.111, '0.000030833333333333'],
])(
  '%p an hour is %p a second, and an hour of seconds is the price again to the nano-dollar',
  (hour, second) => {
    expect(divide(hour, 3600)).toBe(second)
    expect(Number(second) * 3600).toBeCloseTo(hour, 9)
  },
)

test('values that are not prices are rejected', () => {
  for (const value of [-1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => shiftLeft(value, 6)).toThrow('not a price')
  }
})
