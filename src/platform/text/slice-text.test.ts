import { expect, test } from 'bun:test'
import { sliceText } from './slice-text.ts'

test('a text is sliced between its characters', () => {
  expect([...sliceText('', 2)]).toEqual([])
  expect([...sliceText('abcde', 2)]).toEqual(['ab', 'cd', 'e'])
  expect([...sliceText('a\u{1f600}b\u{1f600}', 2)]).toEqual(['a\u{1f600}', 'b\u{1f600}'])
})
