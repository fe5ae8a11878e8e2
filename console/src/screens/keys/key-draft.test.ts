import { expect, test } from 'bun:test'
import { draftOfKey, emptyKeyDraft, toKeyBody, toKeyChanges } from './key-draft.ts'
import type { ApiKey } from './key-fields.ts'

const stored = {
  name: 'Checkout',
  limit: 5,
  limit_reset: 'daily',
  include_byok_in_limit: false,
  tier: 'free',
  priority: 'normal',
  max_priority: null,
  tags: { required: ['team'], forbidden: [], set: {} },
} as unknown as ApiKey

test('only what differs is changed', () => {
  const draft = draftOfKey(stored, { rates: [], models: [], providers: [] })
  expect(toKeyChanges(stored, draft)).toEqual({})
  expect(toKeyChanges(stored, { ...draft, limit: 10 })).toEqual({ limit: 10, limit_reset: 'daily' })
  const none = { required: [], forbidden: [], set: {} }
  expect(toKeyChanges(stored, { ...draft, tags: none, maxPriority: 'high', name: ' Shop ' })).toEqual({
    name: 'Shop',
    tags: null,
    max_priority: 'high',
  })
})

test('a new key has what is filled in', () => {
  expect(toKeyBody({ ...emptyKeyDraft, name: ' a ' })).toEqual({
    name: 'a',
    limit: null,
    limit_reset: null,
    include_byok_in_limit: false,
    expires_at: null,
  })
  expect(
    toKeyBody({ ...emptyKeyDraft, name: 'a', ownerId: 'u', lastDay: '2027-01-31', maxPriority: 'high' }),
  ).toMatchObject({ creator_user_id: 'u', expires_at: '2027-01-31T23:59:59Z', max_priority: 'high' })
})
