import { expect, test } from 'bun:test'
import { type ApiKey, stateOf, usedOf } from './key-fields.ts'

const key: ApiKey = {
  hash: 'a'.repeat(64),
  name: 'Reports',
  label: 'sk-hg-v1-abc...def',
  disabled: false,
  limit: 5,
  limit_remaining: 3,
  limit_reset: 'daily',
  include_byok_in_limit: true,
  usage: 40,
  usage_daily: 0,
  usage_weekly: 0,
  usage_monthly: 2,
  byok_usage: 0,
  byok_usage_daily: 0,
  byok_usage_weekly: 0,
  byok_usage_monthly: 0,
  created_at: '2026-01-01T00:00:00Z',
  updated_at: null,
  last_used_at: null,
  expires_at: '2026-06-01T23:59:59Z',
  tags: null,
  external_user: null,
  creator_user_id: 'user_ada',
  tier: null,
  priority: 'normal',
  max_priority: null,
  workspace_id: 'workspace',
}

test('the bar shows the window of the limit, or the total', () => {
  expect([usedOf(key), usedOf({ ...key, limit: null, limit_remaining: null })]).toEqual([2, 40])
})

test('a key is active, disabled or expired', () => {
  const now = Date.parse('2026-05-01T00:00:00Z')
  expect(stateOf(key, now)).toBe('active')
  expect(stateOf(key, Date.parse('2026-07-01T00:00:00Z'))).toBe('expired')
  expect(stateOf({ ...key, disabled: true }, now)).toBe('disabled')
})
