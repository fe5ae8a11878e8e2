import { expect, test } from 'bun:test'
import { buildDraft, fieldsOf, type Guardrail } from './draft.ts'
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

test('a guardrail that is not changed gives the same fields', () => {
  const fields = fieldsOf(stored)
  expect(JSON.parse(fields.rest)).toEqual({ allowed_models: ['a/b'], include_byok_in_budgets: true })
  expect(buildDraft(fields, stored)).toEqual({
    draft: {
      name: 'Rules',
      description: null,
      dry_run: false,
      content_filter_builtins: [{ slug: 'email', action: 'redact', label: '[EMAIL]' }],
      content_filters: null,
      allowed_models: ['a/b'],
      include_byok_in_budgets: true,
    },
  })
})

test('what is removed from the JSON is cleared', () => {
  const result = buildDraft({ ...fieldsOf(stored), rest: '' }, stored)
  expect(result).toMatchObject({ draft: { allowed_models: null, include_byok_in_budgets: false } })
})

test.each([
  ['{', 'JSON'],
  ['[]', 'an object'],
  ['{"name": "x"}', 'name is not set here'],
  ['{"id": "x"}', 'id is not set here'],
  ['{"nope": 1}', 'no field nope'],
])('JSON that cannot be used, %j, says why', (rest, problem) => {
  const result = buildDraft({ ...fieldsOf(stored), rest }, stored)
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
