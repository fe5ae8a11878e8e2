import { expect, test } from 'bun:test'
import { formatPerMillion, perMillion } from './price.ts'

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
