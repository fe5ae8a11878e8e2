import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { StringBuilder } from './string-builder.ts'

test('chunks of any size are joined in order', () => {
  const chunk = fc.oneof(fc.string(), fc.constant('x'.repeat(3000)))
  fc.assert(
    fc.property(fc.array(chunk), (chunks) => {
      const builder = new StringBuilder()
      for (const text of chunks) builder.add(text)
      expect(builder.take()).toBe(chunks.join(''))
      expect(builder.take()).toBe('')
    }),
  )
})

test('S13 very many small chunks are merged', () => {
  const builder = new StringBuilder()
  for (let index = 0; index < 5000; index++) builder.add(String(index % 10))
  expect(builder.take()).toHaveLength(5000)
})
