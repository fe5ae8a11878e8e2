import { expect, test } from 'bun:test'
import { formatPerMillion, perMillion, toPricePerMillion, toPricePerToken } from './price.ts'

test('prices are per million tokens', () => {
  expect(perMillion('0.0000001')).toBe(0.1)
  expect(formatPerMillion('0.0000025')).toBe('$2.50')
  expect(formatPerMillion('0.000000075')).toBe('$0.075')
})

test('a price that is not known is not free', () => {
  expect(formatPerMillion('0')).toBe('free')
  expect(formatPerMillion('-1')).toBe('–')
  expect(formatPerMillion(undefined)).toBe('–')
})

test.each([
  ['2.5', '0.0000025'],
  ['0', '0'],
  ['0.075', '0.000000075'],
  ['1000000', '1'],
  ['12345678.5', '12.3456785'],
])('%p a million is %p a token, exactly, and back', (perMillionText, perToken) => {
  expect(toPricePerToken(perMillionText)).toBe(perToken)
  expect(toPricePerMillion(perToken)).toBe(perMillionText)
})

test('what is not an amount is no price', () => {
  for (const text of ['', 'free', '-1', '1e3', '1,5']) expect(toPricePerToken(text)).toBeNull()
  expect(toPricePerMillion(undefined)).toBe('')
})
