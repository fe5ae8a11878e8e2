import { expect, test } from 'bun:test'
import { trimEnd } from './trim-end.ts'

test.each([
  ['', ''],
  ['a', 'a'],
  ['a/', 'a'],
  ['/a//', '/a'],
  ['//', ''],
  ['a.,/', 'a'],
])('%p ends as %p', (text, trimmed) => {
  expect(trimEnd(text, '/.,')).toBe(trimmed)
})

test('a long run that is not at the end takes no time', () => {
  const text = `${'/'.repeat(1_000_000)}x`
  expect(trimEnd(text, '/')).toBe(text)
})
