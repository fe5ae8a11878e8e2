import { describe, expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { readDistinctions } from './distinctions.ts'
import { cutLastString } from './semantic-scope.ts'

const differing: [string, string][] = [
  ['How far is it to 3 towns?', 'How far is it to 4 towns?'],
  ['What happened in 1914', 'What happened in 1941'],
  ['How long do two eggs boil', 'How long do three eggs boil'],
  ['Is this allowed?', "Isn't this allowed?"],
  ['What may I take', 'What may I not take'],
  ['food with gluten', 'food without gluten'],
  ['What is the capital of France?', 'What is the capital of Germany?'],
  ['Paris is big', 'London is big'],
  ['a train from Rome to Milan', 'a train from Milan to Rome'],
  ['3 apples and 5 pears', '5 apples and 3 pears'],
  ['rename `a.txt`', 'rename `b.txt`'],
  ['translate "good day"', 'translate "good night"'],
  ["what does 'x' mean", "what does 'y' mean"],
  ['what is user_id for', 'what is userId for'],
  ['open src/main.ts', 'open src/cli.ts'],
  ['write to ann@example.com', 'write to bob@example.com'],
  ['it costs $5', 'it costs €5'],
  ['is a > b', 'is a < b'],
  ['How do I enable the alarm?', 'How do I disable the alarm?'],
  ['the tallest and the oldest', 'the tallest and the newest'],
  ['what is an API', 'what is an SDK'],
  ['git reset --hard', 'git reset --soft'],
  ['Was kostet das nicht', 'Was kostet das'],
]

const agreeing: [string, string][] = [
  ['How do I reset my password?', 'What can I do to reset my password?'],
  ["What's the capital of France?", 'Tell me the capital of France.'],
  ['Please explain how rain forms', 'Explain how rain forms, please'],
  ['I can’t log in', "I can't log in!"],
  ["Where are Anna's books", 'where are Anna’s books?'],
]

describe('the distinctions of a text', () => {
  for (const [a, b] of differing)
    test(`differ: ${a} / ${b}`, () => {
      expect(readDistinctions(a)).not.toEqual(readDistinctions(b))
    })
  for (const [a, b] of agreeing)
    test(`agree: ${a} / ${b}`, () => {
      expect(readDistinctions(a)).toEqual(readDistinctions(b))
    })
  test('cannot be read in other scripts than Latin', () => {
    expect(readDistinctions('什么是雨')).toBeNull()
    expect(readDistinctions('ما هو المطر')).toBeNull()
    expect(readDistinctions('Что такое дождь')).toBeNull()
    expect(readDistinctions('où naît la pluie ?')).toEqual([])
  })
  test('of the longest text are read in a few milliseconds, whatever it consists of', () => {
    for (const piece of ['a.', '"', "'a", 'a--', '((', 'Aa', '`a', '1,', '::', '“a']) {
      const text = piece.repeat(4000 / piece.length)
      const leastMs = Math.min(
        ...Array.from({ length: 5 }, () => measureCpuTime(() => readDistinctions(text))),
      )
      expect([piece, leastMs < 50]).toEqual([piece, true])
    }
  })
})

describe('cutLastString', () => {
  test('cuts the last string with the value, however it is escaped', () => {
    expect(cutLastString('{"a":"x","b":["x"],"c":1}', 'x')).toBe('{"a":"x","b":[?],"c":1}')
    expect(cutLastString('{"a":"\\u0078\\n"}', 'x\n')).toBe('{"a":?}')
    expect(cutLastString('{"a":"say \\"x\\""}', 'say "x"')).toBe('{"a":?}')
    expect(cutLastString('{"a":"xy"}', 'x')).toBeNull()
  })
})
