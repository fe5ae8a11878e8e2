import { expect, test } from 'bun:test'
import { changeBetween } from './change-between.ts'

test('the change is unknown where nothing was before', () => {
  expect(changeBetween(3, 2)).toBe(0.5)
  expect(changeBetween(3, 0)).toBeUndefined()
  expect(changeBetween(null, 2)).toBeUndefined()
})
