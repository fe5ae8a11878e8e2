import { expect, test } from 'bun:test'
import {
  describeAction,
  draftOfRule,
  emptyRuleDraft,
  isTryable,
  type Rule,
  toUpdateBody,
} from './rule-draft.ts'

const then: Rule['then'] = {
  models: ['sandbox/reasoner', 'sandbox/echo'],
  provider: { sort: 'price', ignore: ['azure'], zdr: true },
  tags: { size: 'long' },
}
const stored: Rule = {
  ...{ id: 'r', workspace_id: null, name: 'Long prompts', description: 'of search', position: 10 },
  ...{ enabled: true, when: 'input_tokens > 500', then, created_at: '', updated_at: '' },
}

test('a rule that is not changed has the same action', () => {
  expect(toUpdateBody(draftOfRule(stored))).toEqual({
    ...{ name: 'Long prompts', position: 10, enabled: true, when: 'input_tokens > 500', then },
  })
  const sorted = { ...stored, then: { provider: { sort: { by: 'price' as const } } } }
  expect(toUpdateBody(draftOfRule(sorted)).then).toEqual(sorted.then)
  const rejecting = { ...stored, then: { reject: { message: 'No' } } }
  expect(toUpdateBody(draftOfRule(rejecting)).then).toEqual(rejecting.then)
})

test('a rule needs a condition and an effect', () => {
  const draft = { ...emptyRuleDraft(null), when: 'stream' }
  expect(isTryable(draft)).toBe(false)
  expect(isTryable({ ...draft, models: ['a/b'] })).toBe(true)
  expect(isTryable({ ...draft, models: ['a/b'], when: ' ' })).toBe(false)
  expect(isTryable({ ...draft, models: ['a/b'], rest: '[' })).toBe(false)
  expect(isTryable({ ...draft, kind: 'reject' })).toBe(false)
  expect(isTryable({ ...draft, kind: 'reject', message: 'No' })).toBe(true)
})

test('says what a rule does', () => {
  expect(describeAction(then)).toBe(
    'sandbox/reasoner, then sandbox/echo · Providers: sort price, ignore ["azure"], zdr true · Tags: size=long',
  )
  expect(describeAction({ reject: { message: 'Ask Ada' } })).toBe('Reject: Ask Ada')
})
