import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { decimalPrice, listPrices, pricing, resolvePriceState } from './price.ts'

describe('R8 three price states', () => {
  test('R8 no price at all is unknown, only zeros are free, anything else is priced', () => {
    expect(resolvePriceState([])).toBe('unknown')
    expect(resolvePriceState(['0', '0.000', '0'])).toBe('free')
    expect(resolvePriceState(['0', '0.000000000000000001'])).toBe('priced')
  })

  test('R8 a price that applies only under a condition makes the endpoint priced', () => {
    const conditional = {
      prompt: '0',
      completion: '0',
      overrides: [{ min_prompt_tokens: 10, prompt: '0.1' }],
    }
    expect(resolvePriceState(listPrices(pricing.parse(conditional)))).toBe('priced')
  })
})

test('a price is a decimal string: numbers, signs, exponents and words are rejected', () => {
  for (const price of ['0', '12', '0.000001', '0.00000008333333333333334']) {
    expect(decimalPrice.safeParse(price).success).toBe(true)
  }
  for (const price of [0.1, '-1', '+1', '1e-6', '.5', '1.', '1,5', '', 'free', null]) {
    expect(decimalPrice.safeParse(price).success).toBe(false)
  }
})

test('every string of digits with a point inside is a price', () => {
  fc.assert(
    fc.property(fc.nat(999_999_999), fc.stringMatching(/^\d{1,30}$/), (whole, fraction) => {
      expect(decimalPrice.safeParse(`${whole}.${fraction}`).success).toBe(true)
    }),
  )
})

test.each([
  ['utc_start alone', { utc_start: 100, prompt: '1' }],
  ['minutes past 59', { utc_start: 160, utc_end: 200, prompt: '1' }],
  ['a day that is none', { utc_days: ['funday'], prompt: '1' }],
  ['an unknown price key', { min_prompt_tokens: 1, image: '1' }],
])('an override is rejected for %s', (_, override) => {
  expect(pricing.safeParse({ prompt: '1', completion: '1', overrides: [override] }).success).toBe(false)
})
