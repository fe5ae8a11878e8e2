import { expect, test } from 'bun:test'
import { measureCpuTime } from '../../../test/support/cpu-time.ts'
import { highlight } from './highlight.ts'

test('words of code have their kind, and together they are the code', () => {
  const code = `curl -X POST "$URL/x" \\\n  -d '{"a": 1}' # <b>`
  const pieces = highlight(code, 'sh')
  expect(pieces.map(({ text }) => text).join('')).toBe(code)
  expect(pieces).toContainEqual({ text: '# <b>', kind: 'comment' })
  expect(highlight('{"a": 1}', 'json')).toContainEqual({ text: '"a"', kind: 'name' })
  expect(highlight('import os', 'python')).toContainEqual({ text: 'import', kind: 'keyword' })
})

test.each(['', 'unknown', '__proto__', 'constructor'])('the language %j has no color', (language) => {
  expect(highlight('a', language)).toEqual([{ text: 'a', kind: null }])
})

test.each(['_'.repeat(20_000), 'a\n'.repeat(20_000), '\n'.repeat(20_000)])(
  'code that is too long or that nobody writes has no color',
  (code) => expect(highlight(code, 'typescript')).toHaveLength(1),
)

const languages = ['bash', 'diff', 'json', 'python', 'sql', 'typescript', 'xml', 'yaml']

test.each(languages)('hostile code in %s takes no time', (language) => {
  for (const piece of ['"', '{', '(a,', '<a ', '`', '${', '1', '_', 'a: ', '[', '\\', 'function a(']) {
    const code = `${piece.repeat(990 / piece.length)}\n`.repeat(20)
    expect(measureCpuTime(() => highlight(code, language))).toBeLessThan(3_000)
  }
})
