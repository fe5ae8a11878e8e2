import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { StringBuilder } from './string-builder.ts'

test('pieces of any size come out in one text, in order', () => {
  const piece = fc.oneof(fc.string(), fc.constant('x'.repeat(3000)))
  fc.assert(
    fc.property(fc.array(piece), (given) => {
      const pieces = new StringBuilder()
      for (const each of given) pieces.add(each)
      expect(pieces.take()).toBe(given.join(''))
      expect(pieces.take()).toBe('')
    }),
  )
})

test('S13 very many small pieces take little more than their text', () => {
  const pieces = new StringBuilder()
  for (let place = 0; place < 5000; place++) pieces.add(String(place % 10))
  expect(pieces.take()).toHaveLength(5000)
})
