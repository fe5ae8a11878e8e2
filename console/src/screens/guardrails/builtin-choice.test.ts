import { expect, test } from 'bun:test'
import { findBuiltin, setBuiltin, setReversible, setScanScope } from './builtin-choice.ts'
import type { BuiltinFilter } from './draft.ts'

test('prompts and replies are set one by one, and are one filter while they are equal', () => {
  const others: BuiltinFilter[] = [{ slug: 'phone', action: 'flag' }]
  const prompts = setBuiltin(others, 'email', 'input', 'redact')
  expect(prompts).toEqual([...others, { slug: 'email', action: 'redact' }])
  const both = setBuiltin(prompts, 'email', 'output', 'redact')
  expect(both).toEqual([...others, { slug: 'email', action: 'redact', scope: 'both' }])
  expect(findBuiltin(both, 'email', 'output')?.action).toBe('redact')
  const different = setBuiltin(both, 'email', 'output', 'block')
  expect(different).toEqual([
    ...others,
    { slug: 'email', action: 'redact' },
    { slug: 'email', action: 'block', scope: 'output' },
  ])
  expect(setBuiltin(different, 'email', 'input', null)).toEqual([
    ...others,
    { slug: 'email', action: 'block', scope: 'output' },
  ])
  expect(setBuiltin(setBuiltin(both, 'email', 'input', null), 'email', 'output', null)).toEqual(others)
})

test('the messages that are read stay with the filter of prompts', () => {
  const slug = 'regex-prompt-injection'
  const scoped = setScanScope([{ slug, action: 'block' }], slug, 'user_only')
  expect(scoped).toEqual([{ slug, action: 'block', scan_scope: 'user_only' }])
  expect(setBuiltin(scoped, slug, 'output', 'flag')).toEqual([
    { slug, action: 'block', scan_scope: 'user_only' },
    { slug, action: 'flag', scope: 'output' },
  ])
})

test('values are restored only where prompts are redacted', () => {
  const filters: BuiltinFilter[] = [
    { slug: 'email', action: 'redact' },
    { slug: 'email', action: 'block', scope: 'output' },
  ]
  const reversible = setReversible(filters, 'email', true)
  expect(reversible).toEqual([
    { slug: 'email', action: 'redact', reversible: true },
    { slug: 'email', action: 'block', scope: 'output' },
  ])
  const both = setBuiltin(reversible, 'email', 'output', 'redact')
  expect(both).toEqual([{ slug: 'email', action: 'redact', scope: 'both', reversible: true }])
  expect(setReversible(both, 'email', false)).toEqual([{ slug: 'email', action: 'redact', scope: 'both' }])
  expect(setBuiltin(both, 'email', 'input', 'block')).toEqual([
    { slug: 'email', action: 'block' },
    { slug: 'email', action: 'redact', scope: 'output' },
  ])
})
