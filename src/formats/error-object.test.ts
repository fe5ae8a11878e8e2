import { expect, test } from 'bun:test'
import { errorObjectOf } from './error-object.ts'

test.each([undefined, null, '', {}])('an event whose error is %j has none', (error) => {
  expect(errorObjectOf({ error })).toBeUndefined()
})

test('an error is an object or a text', () => {
  expect(errorObjectOf({ error: 'Broken.' })).toEqual({ message: 'Broken.' })
  expect(errorObjectOf({ error: { code: 5 } })).toEqual({ code: 5 })
})
