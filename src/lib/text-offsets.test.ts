import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { TextOffsets } from './text-offsets.ts'

test('bytes and characters of any text are as counted from its beginning', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 4000 })
  fc.assert(
    fc.property(text, fc.nat(5000), (given, place) => {
      const offsets = new TextOffsets(given)
      const characters = Math.min(place, given.length)
      const isWhole = given.slice(0, characters).isWellFormed()
      fc.pre(isWhole)
      const bytes = Buffer.byteLength(given.slice(0, characters))
      expect(offsets.toBytes(place)).toBe(bytes)
      expect(offsets.toCharacters(bytes)).toBe(characters)
    }),
  )
})

test('places outside the text are its ends', () => {
  const offsets = new TextOffsets('né')
  expect([
    offsets.toBytes(-1),
    offsets.toBytes(9),
    offsets.toCharacters(-1),
    offsets.toCharacters(9),
  ]).toEqual([0, 3, 0, 2])
})
