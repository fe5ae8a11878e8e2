import { expect, test } from 'bun:test'
import { buildChanges, buildCreateBody, draftOf, emptyDraft, isComplete } from './draft.ts'
import type { Destination } from './kinds.ts'

const stored: Destination = {
  id: '0cf01dc0-1ba1-49a0-9fa1-d9c87b5b1500',
  workspace_id: '0cf01dc0-1ba1-49a0-9fa1-d9c87b5b1501',
  type: 'webhook',
  name: 'Events',
  enabled: true,
  privacy_mode: true,
  broadcast_generation_cost: false,
  broadcast_generation_identity: false,
  broadcast_generation_request_context: false,
  regions: ['global'],
  sampling_rate: 0.5,
  api_key_hashes: null,
  filter_rules: {
    enabled: true,
    groups: [{ logic: 'and', rules: [{ field: 'total_cost', operator: 'gt', value: 0.01 }] }],
  },
  config: {
    url: 'https://hooks.example.com/in',
    method: 'POST',
    signingSecret: 'whs********abc',
    headers: { 'x-team': '********' },
  },
  secrets_held_back: false,
  created_at: '2026-11-16T00:00:00.000Z',
  updated_at: '2026-11-16T00:00:00.000Z',
}

test('a new destination has only the fields of its type that were entered', () => {
  const draft = {
    ...emptyDraft,
    name: ' Events ',
    config: { url: 'https://hooks.example.com/in', method: '', apiKey: 'of another type' },
    headers: [{ key: '1', name: 'x-team', value: 'a', isStored: false }],
  }
  expect(isComplete('webhook', draft)).toBe(true)
  expect(isComplete('langfuse', draft)).toBe(false)
  expect(buildCreateBody('webhook', draft, null)).toEqual({
    type: 'webhook',
    name: 'Events',
    privacy_mode: false,
    config: { url: 'https://hooks.example.com/in', headers: { 'x-team': 'a' } },
  })
})

test('a destination that was not changed has no changes, and no masked secret in the form', () => {
  const draft = draftOf(stored)
  expect(draft.config).toEqual({ url: 'https://hooks.example.com/in', method: 'POST', signingSecret: '' })
  expect(buildChanges(stored, draft)).toEqual({})
})

test('only what was changed is sent', () => {
  const draft = draftOf(stored)
  const changed = {
    ...draft,
    privacy_mode: false,
    samplingPercent: 12.5,
    filterGroups: [],
    config: { ...draft.config, method: '', signingSecret: null },
    headers: [...draft.headers, { key: 'new', name: 'x-new', value: 'b', isStored: false }],
  }
  expect(buildChanges(stored, changed)).toEqual({
    privacy_mode: false,
    sampling_rate: 0.125,
    filter_rules: null,
    config: { method: null, signingSecret: null, headers: { 'x-team': '********', 'x-new': 'b' } },
  })
})
