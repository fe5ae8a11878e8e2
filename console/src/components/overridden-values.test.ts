import { expect, test } from 'bun:test'
import { overriddenValues } from './overridden-values.ts'

test('each field beside the value without the override, prices one by one', () => {
  const fields = { name: 'Ours', dialects: ['chat'], pricing: { prompt: '0.001', request: '0.1' } }
  const base = { name: 'Theirs', pricing: { prompt: '0.002', completion: '0.003' } }
  expect(overriddenValues(fields, base)).toEqual([
    { field: 'name', now: 'Ours', before: 'Theirs' },
    { field: 'dialects', now: '["chat"]', before: null },
    { field: 'pricing.prompt', now: '0.001', before: '0.002' },
    { field: 'pricing.request', now: '0.1', before: null },
  ])
})

test('what was created has no other value', () => {
  expect(overriddenValues({ name: 'Own' }, null)).toEqual([{ field: 'name', now: 'Own', before: null }])
})
