import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { compilePattern, measureLongestMatch, PatternError } from './pattern.ts'

describe('user patterns', () => {
  test.each([
    ['(?=a)b', 'invalid or unsupported Perl syntax: `(?=`'],
    ['(?!a)b', 'invalid or unsupported Perl syntax: `(?!`'],
    ['(a)\\1', 'invalid escape sequence: `\\1`'],
    ['[a', 'missing closing ]: `[a`'],
    ['(', 'missing closing ): `(`'],
    ['*', 'missing argument to repetition operator: `*`'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
  ])('%s is rejected with its reason', (source, reason) => {
    expect(() => compilePattern(source)).toThrow(new PatternError(reason))
  })

  test('a reason does not contain a long pattern', () => {
    const attempt = () => compilePattern(`(?<=${'a'.repeat(50_000)})`)
    expect(attempt).toThrow(PatternError)
    expect(attempt).not.toThrow(/a{300}/)
  })

  test.each([
    ['\\bfoo\\b', 'a foo b', 'a [X] b'],
    ['\\d{3}-\\d{2}', 'no 123-45 here, 678-90', 'no [X] here, [X]'],
    ['(?i)secret', 'SECRET secret', '[X] [X]'],
    ['\\u0041+', 'AAB', '[X]B'],
    ['(?<word>x+)/', 'xx/y', '[X]y'],
    ['[\\p{L}]+ß', 'Straß', '[X]'],
  ])('%s matches', (source, text, redacted) => {
    const pattern = compilePattern(source)
    expect(pattern.test(text)).toBe(true)
    expect(pattern.redact(text, '[X]')).toBe(redacted)
    expect(pattern.test('')).toBe(false)
  })

  test('a label is inserted literally', () => {
    expect(compilePattern('a').redact('bab', '$0\\$1')).toBe('b$0\\$1b')
  })

  test('S13 patterns that take other engines exponential time are fast', () => {
    const cpuMs = measureCpuTime(() => {
      expect(compilePattern('(x+x+)+y').test('x'.repeat(100_000))).toBe(false)
      expect(compilePattern('^(([a-z])+.)+[A-Z]([a-z])+$').test('a'.repeat(100_000))).toBe(false)
    })
    expect(cpuMs).toBeLessThan(2000)
  })

  test.each([
    ['many repetitions', 'a{1000}'.repeat(20)],
    ['a long group', `(?:${'ab'.repeat(50)}){1000}`],
    ['nested groups', `((?:${'ab'.repeat(50)}){10}){100}`],
    ['a class with brackets', `(?:${'ab'.repeat(50)}[\\])]){1000}`],
    ['a class with a class', `(?:${'ab'.repeat(50)}[[:alpha:])]){1000}`],
    ['a quoted bracket', `(?:${'ab'.repeat(50)}\\Q)\\E){1000}`],
    ['an escaped bracket', `(?:${'ab'.repeat(50)}\\)){1000}`],
    ['a range', `(?:${'ab'.repeat(50)}){0,1000}`],
  ])('S13 a program that is too large is not compiled: %s', (_, source) => {
    const cpuMs = measureCpuTime(() => expect(() => compilePattern(source)).toThrow(/too large/))
    expect(cpuMs).toBeLessThan(100)
  })

  test.each([
    ['of letters', 'a'],
    ['of open classes', '['],
    ['of open groups', '('],
    ['of open properties', '\\p{'],
    ['of open counts', '{1'],
    ['of quotes', '\\Q'],
  ])('S13 100,000 characters %s are checked quickly', (_, unit) => {
    const cpuMs = measureCpuTime(() => {
      try {
        compilePattern(unit.repeat(100_000 / unit.length))
      } catch (error) {
        expect(error).toBeInstanceOf(PatternError)
      }
    })
    expect(cpuMs).toBeLessThan(3000)
  })

  test('S13 no accepted pattern has a larger program than its length and the maximum growth', () => {
    const atom = fc.constantFrom(
      'a',
      '.',
      '\\d',
      '[a-f]',
      '[])(]',
      '\\(',
      '[[:digit:]]',
      '\\Q(\\E',
      '\\pL',
      '^',
    )
    const pattern = fc.letrec<{ node: string }>((tie) => ({
      node: fc.oneof(
        { depthSize: 'small' },
        atom,
        fc.tuple(tie('node'), tie('node')).map((parts) => parts.join('')),
        fc.tuple(tie('node'), tie('node')).map((parts) => parts.join('|')),
        tie('node').map((inner) => `(${inner})`),
        fc
          .tuple(
            tie('node'),
            fc.constantFrom('*', '+?', '?', '{3}', '{40}', '{2,30}', '{5,}', '{0}', '{1000}'),
          )
          .map(([inner, repeat]) => `(?:${inner})${repeat}`),
      ),
    })).node
    fc.assert(
      fc.property(pattern, (source) => {
        try {
          expect(compilePattern(source).size).toBeLessThanOrEqual(source.length + 10_000 + 2)
        } catch (error) {
          expect(error).toBeInstanceOf(PatternError)
        }
      }),
      { numRuns: 500 },
    )
  })
})

test.each<[string, number]>([
  ['', 0],
  ['abc', 6],
  ['a|bb|c', 4],
  ['a{3}', 6],
  ['(ab|c){2,5}', 20],
  ['x?', 2],
  ['\\Qa*b\\E', 7],
  ['a+', Number.POSITIVE_INFINITY],
  ['a*?', Number.POSITIVE_INFINITY],
  ['[a-z]{2,}', Number.POSITIVE_INFINITY],
  ['(a*){1}', Number.POSITIVE_INFINITY],
  ['(?:a(b+)?)x', Number.POSITIVE_INFINITY],
])('the longest match of %s has at most %d code units', (pattern, length) => {
  expect(measureLongestMatch(pattern)).toBeGreaterThanOrEqual(length)
  expect(Number.isFinite(measureLongestMatch(pattern))).toBe(Number.isFinite(length))
})
