import { expect, test } from 'bun:test'
import {
  changesOf,
  describeLimits,
  draftOf,
  nameOfKey,
  toUsageFields,
  type Usage,
  usageOf,
} from './byok-fields.ts'
import type { ByokKey } from './queries.ts'

const key: ByokKey = {
  id: 'id',
  workspace_id: null,
  provider: 'acme',
  name: null,
  label: 'sk-********123',
  disabled: false,
  is_fallback: false,
  is_required: false,
  is_byok_only: false,
  declared_zdr: null,
  allowed_models: null,
  allowed_api_key_hashes: null,
  allowed_user_ids: null,
  sort_order: 0,
  created_at: '2026-11-16T00:00:00Z',
}

test('a key without a name is called by its masked secret', () => {
  expect(nameOfKey(key)).toBe('sk-********123')
  expect(nameOfKey({ ...key, name: 'EU' })).toBe('EU')
})

test.each<Usage>(['first', 'fallback', 'required', 'only'])('the usage %s and its fields', (usage) => {
  expect(usageOf({ ...key, ...toUsageFields(usage) })).toBe(usage)
})

test('limits are named, those to nothing too', () => {
  expect(describeLimits(key)).toEqual([])
  expect(describeLimits({ ...key, allowed_models: [], allowed_user_ids: ['a', 'b'] })).toEqual([
    'no model',
    '2 members',
  ])
})

test('only what was changed is sent', () => {
  const before = draftOf({ ...key, allowed_models: [], name: 'EU' })
  expect(changesOf(before, before)).toEqual({})
  expect(changesOf(before, { ...before, name: '', key: ' sk-new ', usage: 'only' })).toEqual({
    name: null,
    key: 'sk-new',
    is_fallback: false,
    is_required: false,
    is_byok_only: true,
  })
  expect(changesOf({ ...before, models: ['a/b'] }, before)).toEqual({ allowed_models: null })
})
