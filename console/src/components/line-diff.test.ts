import { expect, test } from 'bun:test'
import { diffLines, foldLines } from './line-diff.ts'

const show = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: ' ', added: '+', removed: '-' }[kind]}${text}`)

test.each([
  ['a\nb\nc', 'a\nx\nc', [' a', '-b', '+x', ' c']],
  ['a\nb', 'a\nb', [' a', ' b']],
  ['', 'a', ['+a']],
  ['a', '', ['-a']],
  ['a\na', 'a', [' a', '-a']],
  ['a\nb\nc\nd', 'b\nd\ne', ['-a', ' b', '-c', ' d', '+e']],
])('from %j to %j', (before, after, lines) => {
  expect(show(before, after)).toEqual(lines)
})

test('both texts can be read from the difference', () => {
  const before = 'one\ntwo\n\nthree\ntwo'
  const after = 'two\nthree\n\nfour\ntwo\ntwo'
  const lines = diffLines(before, after)
  const side = (left: 'added' | 'removed') =>
    lines.flatMap(({ kind, text }) => (kind === left ? [] : [text])).join('\n')
  expect([side('added'), side('removed')]).toEqual([before, after])
})

test('texts too long to compare are shown as replaced', () => {
  const text = (word: string) => Array.from({ length: 1500 }, (_, line) => `${word} ${line}`).join('\n')
  const lines = diffLines(text('a'), text('b'))
  expect([lines.length, lines[0]?.kind, lines.at(-1)?.kind]).toEqual([3000, 'removed', 'added'])
})

test('unchanged lines far from a change are left out', () => {
  const before = Array.from({ length: 20 }, (_, line) => `line ${line}`)
  const folded = foldLines(diffLines(before.join('\n'), [...before, 'new'].join('\n')), 1)
  expect(folded.map((line) => line?.text ?? '…')).toEqual(['…', 'line 19', 'new'])
})
