import { expect, test } from 'bun:test'
import type { Entry } from '../../components/audit-sentence.ts'
import { maxAnnotations, selectEntries } from './marked-entries.ts'

const entry = (action: string, more: Partial<Entry> = {}): Entry => ({
  ...{
    id: crypto.randomUUID(),
    chain: 'c',
    seq: 1,
    created_at: '2028-03-01T10:00:00.000Z',
    action,
    outcome: 'success',
  },
  ...{ actor: { type: 'member', id: 'user_1', name: 'Ada' }, target: { type: 'key', id: 'k', name: 'App' } },
  ...{ workspace_id: null, request_id: null, ip: null, user_agent: null },
  ...{ changes: null, previous_hash: '', hash: '' },
  ...more,
})

test('of keys, only changes that stop or limit them are marked', () => {
  const renamed = entry('key.update', { changes: { before: { name: 'a' }, after: { name: 'b' } } })
  const disabled = entry('key.update', { changes: { before: { disabled: 0 }, after: { disabled: 1 } } })
  const deleted = entry('key.delete')
  expect(selectEntries([renamed, disabled, deleted], undefined)).toEqual([disabled, deleted])
})

test('changes of other workspaces are not marked, those of the organization are', () => {
  const own = entry('guardrail.update', { workspace_id: 'w1' })
  const other = entry('guardrail.update', { workspace_id: 'w2' })
  const all = entry('catalogue_endpoint.update')
  expect(selectEntries([own, other, all], 'w1')).toEqual([own, all])
})

test('their number is bounded', () => {
  const many = Array.from({ length: 50 }, () => entry('limit.create'))
  expect(selectEntries(many, undefined)).toHaveLength(maxAnnotations)
})
