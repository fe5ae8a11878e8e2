import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { TextOffsets } from './text-offsets.ts'

test('offsets equal those counted from the start', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 4000 })
  fc.assert(
    fc.property(text, fc.nat(5000), (sample, offset) => {
      const offsets = new TextOffsets(sample)
      const characters = Math.min(offset, sample.length)
      const isWhole = sample.slice(0, characters).isWellFormed()
      fc.pre(isWhole)
      const bytes = Buffer.byteLength(sample.slice(0, characters))
      expect(offsets.toBytes(offset)).toBe(bytes)
      expect(offsets.toCharacters(bytes)).toBe(characters)
    }),
  )
})

test('offsets outside the text are clamped', () => {
  const offsets = new TextOffsets('né')
  expect([
    offsets.toBytes(-1),
    offsets.toBytes(9),
    offsets.toCharacters(-1),
    offsets.toCharacters(9),
  ]).toEqual([0, 3, 0, 2])
})
