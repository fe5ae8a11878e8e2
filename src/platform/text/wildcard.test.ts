import { expect, test } from 'bun:test'
import { matchesPattern, toLikePattern } from './wildcard.ts'

test('a star stands for any characters, and case is ignored', () => {
  for (const [text, pattern, expected] of [
    ['anthropic/claude-opus', '*claude*', true],
    ['anthropic/Claude-opus', 'anthropic/CLAUDE*', true],
    ['anthropic/claude-opus', 'claude*', false],
    ['anthropic/claude-opus', '*opus', true],
    ['anthropic/claude-opus', 'a*c/*e-*s', true],
    ['aba', 'ab*ba', false],
    ['abba', 'ab*ba', true],
    ['', '*', true],
    ['a', 'a', true],
    ['ab', 'a', false],
    ['xay', '**a**', true],
  ] as const)
    expect({ text, pattern, matches: matchesPattern(text, pattern) }).toEqual({
      text,
      pattern,
      matches: expected,
    })
})

test('characters that have a meaning for the database are literal', () => {
  expect(toLikePattern('100%_*\\')).toBe('100\\%\\_%\\\\')
})
