import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { RE2JS } from 're2js'
import { openProgram, PatternProgress } from './pattern-progress.ts'

const patterns = [
  ...[
    'abc',
    'a+',
    'a*b',
    '(?:ab)+c?',
    'a{2,4}',
    'a.c',
    'a|ab|abc',
    '[a-c]{3}x',
    '(?i)AbC',
    '\\bab\\b',
    'ab\\B',
  ],
  ...[
    '^ab',
    'ab$',
    '(?m)^c+$',
    '[^a]b',
    'b[\\s\\S]*c',
    'b[\\s\\S]*?c',
    '',
    'x*',
    '😀b',
    '\\pL+ \\d',
    '\\Qa.c\\E',
    '(a)(b)?',
  ],
]
const texts = fc
  .array(fc.constantFrom('a', 'b', 'c', 'x', ' ', '\n', '.', '1', 'A', 'B', '😀', 'K', 'ſ'), {
    maxLength: 30,
  })
  .map((characters) => characters.join(''))

/** Every place at which some match begins, with the furthest end it can have in the whole text. */
function listMatches(program: RE2JS, text: string): { start: number; end: number }[] {
  const matches: { start: number; end: number }[] = []
  const matcher = program.matcher(text)
  for (let from = 0; from <= text.length && matcher.find(from); from = matcher.start() + 1)
    if (matcher.end() > matcher.start()) matches.push({ start: matcher.start(), end: matcher.end() })
  return matches
}

describe('the progress of a pattern through a text', () => {
  test.each(patterns)('covers every match that the text so far does not decide: %s', (source) => {
    const program = RE2JS.compile(RE2JS.translateRegExp(source))
    const opened = openProgram(source)
    const property = fc.property(texts, fc.integer({ min: 1, max: 4 }), (text, length) => {
      const matches = listMatches(program, text)
      const progress = new PatternProgress(opened)
      for (let at = 0; at < text.length; at += length) {
        progress.add(text.slice(at, at + length))
        const end = Math.min(at + length, text.length)
        expect(progress.open).toBeLessThanOrEqual(end)
        for (const match of matches) {
          if (match.start < end && match.end > end) expect(progress.open).toBeLessThanOrEqual(match.start)
          const isPair = /[\ud800-\udbff]$/.test(text.slice(0, end))
          if (match.end <= end && !isPair) expect(progress.lastMatchEnd).toBeGreaterThanOrEqual(match.end)
        }
      }
    })
    fc.assert(property, { numRuns: 300 })
  })

  test('is at the end of a text that nothing can begin in', () => {
    const progress = new PatternProgress(openProgram('KEY-[0-9]+'))
    progress.add('Ordinary words, and more of them')
    expect(progress.open).toBe(32)
    expect(progress.lastMatchEnd).toBe(0)
    progress.add(' KE')
    expect(progress.open).toBe(33)
    progress.add('Y-1 ')
    expect(progress.open).toBe(39)
    expect(progress.lastMatchEnd).toBe(38)
  })
})
