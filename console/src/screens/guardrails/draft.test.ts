import { expect, test } from 'bun:test'
import { fieldsOf, formatFields, type Guardrail, parseFields, toDraft } from './draft.ts'
import { splitByMatches } from './highlight.ts'

const stored = {
  id: '1',
  name: 'Rules',
  description: null,
  dry_run: false,
  content_filter_builtins: [{ slug: 'email', action: 'redact', label: '[EMAIL]' }],
  content_filters: null,
  allowed_models: ['a/b'],
  ignored_models: null,
  include_byok_in_budgets: true,
} as unknown as Guardrail

test('the JSON has what is set, and gives the same fields', () => {
  const text = formatFields(fieldsOf(stored))
  expect(JSON.parse(text)).toEqual({
    name: 'Rules',
    content_filter_builtins: [{ slug: 'email', action: 'redact', label: '[EMAIL]' }],
    allowed_models: ['a/b'],
    include_byok_in_budgets: true,
  })
  const parsed = parseFields(text)
  expect('fields' in parsed && formatFields(parsed.fields)).toBe(text)
})

test('what is removed from the JSON is cleared', () => {
  const parsed = parseFields('{"name": "Rules"}')
  expect(parsed).toMatchObject({ fields: { allowed_models: null, include_byok_in_budgets: false } })
})

test('an empty list is none: the API accepts no empty lists', () => {
  const draft = toDraft({ ...fieldsOf(stored), allowed_models: [], description: ' ' })
  expect(draft).toMatchObject({ allowed_models: null, description: null, name: 'Rules' })
})

test.each([
  ['{', 'JSON'],
  ['[]', 'an object'],
  ['{}', 'name is required'],
  ['{"name": "x", "id": "x"}', 'no field id'],
  ['{"name": "x", "nope": 1}', 'no field nope'],
])('JSON that cannot be used, %j, says why', (text, problem) => {
  const result = parseFields(text)
  expect('problem' in result && result.problem).toContain(problem)
})

test('a text is cut at its matches, also where they overlap or touch', () => {
  const cut = (positions: [number, number][]) =>
    splitByMatches(
      'abcdef',
      positions.map(([start, end]) => ({ start, end })),
    ).map(({ text, isMatch }) => (isMatch ? `<${text}>` : text))
  expect(cut([])).toEqual(['abcdef'])
  expect(cut([[1, 3]])).toEqual(['a', '<bc>', 'def'])
  expect(
    cut([
      [2, 5],
      [0, 3],
      [3, 4],
    ]),
  ).toEqual(['<abc>', '<de>', 'f'])
})
