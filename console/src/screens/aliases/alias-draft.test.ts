import { expect, test } from 'bun:test'
import { draftOfAlias, emptyAliasDraft, isComplete, toCreateBody, toUpdateBody } from './alias-draft.ts'
import type { Alias } from './shares.ts'

const stored: Alias = {
  id: 'a',
  workspace_id: null,
  name: 'support',
  models: ['sandbox/echo', 'sandbox/reasoner'],
  targets: [
    { model: 'sandbox/echo', weight: 95, tag: 'arm=a' },
    { model: 'sandbox/reasoner', weight: 5, tag: 'arm=b' },
  ],
  split_by: 'user',
  fallback: false,
  expires_at: '2027-01-31T10:00:00Z',
  replacement: 'sandbox/echo',
  created_at: '',
  updated_at: '',
}

test('an alias that is not changed has the same targets', () => {
  expect(toUpdateBody(draftOfAlias(stored))).toEqual({
    targets: stored.targets ?? [],
    split_by: 'user',
    fallback: false,
    expires_at: '2027-01-31T10:00:00Z',
    replacement: 'sandbox/echo',
  })
})

test('another day ends at its end', () => {
  const changed = toUpdateBody({ ...draftOfAlias(stored), lastDay: '2027-02-01' })
  expect(changed.expires_at).toBe('2027-02-01T23:59:59Z')
})

test('a group in an order has no fields of weights', () => {
  const draft = { ...emptyAliasDraft('w'), name: ' fast ', models: ['sandbox/echo'] }
  expect(toCreateBody(draft)).toEqual({
    name: 'fast',
    workspace_id: 'w',
    models: ['sandbox/echo'],
    expires_at: null,
    replacement: null,
  })
})

test('is complete with a model or with weights that are not all zero', () => {
  const draft = { ...emptyAliasDraft(null), name: 'fast' }
  expect(isComplete(draft)).toBe(false)
  expect(isComplete({ ...draft, models: ['a/b'] })).toBe(true)
  expect(isComplete({ ...draft, models: ['a/b'], replacement: 'a/c' })).toBe(false)
  const zero = { row: '1', model: 'a/b', weight: 0, tag: '' }
  expect(isComplete({ ...draft, kind: 'weights', targets: [zero] })).toBe(false)
  expect(isComplete({ ...draft, kind: 'weights', targets: [zero, { ...zero, weight: 1 }] })).toBe(true)
})
