import { expect, test } from 'bun:test'
import { describeLine, movePoint } from './price-lines.ts'

test('tokens are priced by the million, without losing a digit', () => {
  expect(movePoint('0.000001', 6)).toBe('1')
  expect(movePoint('0.000000075', 6)).toBe('0.075')
  expect(movePoint('0.0000150000000001', 6)).toBe('15.0000000001')
  expect(movePoint('2', 6)).toBe('2000000')
  expect(
    describeLine({
      kind: 'input',
      name: null,
      quantity: 1200,
      unit: 'token',
      rate: '0.0000025',
      amount: '0.003',
    }),
  ).toEqual({ label: 'Prompt', terms: '1,200 tokens × $2.5 per million', amount: '$0.003' })
})

test('a discount has no rate and is negative', () => {
  expect(
    describeLine({
      kind: 'discount',
      name: null,
      quantity: 1,
      unit: 'request',
      rate: null,
      amount: '-0.0005',
    }),
  ).toEqual({ label: 'Discount', terms: '', amount: '−$0.0005' })
})

test('an unknown kind is readable, and steps have their name', () => {
  expect(
    describeLine({ kind: 'tool', name: 'web', quantity: 1, unit: 'call', rate: '0.01', amount: '0.01' }),
  ).toEqual({ label: 'tool: web', terms: '1 call × $0.01', amount: '$0.01' })
})
