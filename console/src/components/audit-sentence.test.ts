import { expect, test } from 'bun:test'
import { describeEntry, type Entry } from './audit-sentence.ts'
import { describeAction, listActions } from './audit-vocabulary.ts'

const entry = {
  action: 'key.update',
  outcome: 'success',
  actor: { type: 'member', id: 'u', name: 'Ada' },
  target: { type: 'key', id: 'h', name: 'checkout' },
  workspace_id: 'w',
  changes: null,
} as unknown as Entry

const describe = (changes: Partial<Entry>) =>
  describeEntry({ ...entry, ...changes }, { workspaceOf: () => 'Research' })
const update = (before: Record<string, unknown>, after: Record<string, unknown>) =>
  describe({ changes: { before, after } })

test('one or two changes are said in full', () => {
  const dollars = { limit_nanos: '5000000000', updated_at: 'x' }
  expect(update(dollars, { limit_nanos: '10000000000', updated_at: 'y' })).toBe(
    'Ada changed the limit of API key checkout from $5.00 to $10.00.',
  )
  expect(update({ limit_nanos: null }, { limit_nanos: '1000000000' })).toBe(
    'Ada changed the limit of API key checkout to $1.00.',
  )
  expect(update({ name: 'a', tier: 'free' }, { name: 'b', tier: null })).toBe(
    'Ada changed the name of API key checkout from a to b and the tier from free to none.',
  )
  expect(update({ allowed_models: '["a/b"]' }, { allowed_models: '["a/b","c/d"]' })).toBe(
    'Ada changed the allowed models of API key checkout from a/b to a/b, c/d.',
  )
})

test('more changes are named', () => {
  expect(update({ a: 1, b: 1, c: 1 }, { a: 2, b: 2, c: 2 })).toBe(
    'Ada changed a, b and 1 more field of API key checkout.',
  )
  expect(update({ note: '' }, { note: 'x'.repeat(100) })).toBe('Ada changed note of API key checkout.')
})

test('switches are verbs', () => {
  expect(update({ disabled: 0 }, { disabled: 1 })).toBe('Ada disabled API key checkout.')
  expect(update({ disabled: 1 }, { disabled: 0 })).toBe('Ada enabled API key checkout.')
  expect(update({ enabled: 1 }, { enabled: 0 })).toBe('Ada disabled API key checkout.')
  expect(update({ dry_run: 0 }, { dry_run: 1 })).toBe(
    'Ada changed the dry run of API key checkout from off to on.',
  )
})

test('other actions, actors and objects', () => {
  const key = { type: 'key', id: 'h', name: 'ci' } as const
  expect(describe({ action: 'key.create', actor: key })).toBe('API key ci created API key checkout.')
  expect(describe({ action: 'session.create' })).toBe('Ada signed in.')
  const job = { type: 'job', id: null, name: null } as const
  expect(describe({ action: 'key.delete', actor: job })).toBe('The server deleted API key checkout.')
  const budget = { type: 'budget', id: 'b', name: 'daily' }
  const changes = { before: { limit_nanos: '1000000000' }, after: { limit_nanos: '2000000000' } }
  expect(describe({ action: 'budget.update', target: budget, changes })).toBe(
    'Ada changed the limit of the daily budget of workspace Research from $1.00 to $2.00.',
  )
  expect(describe({ outcome: 'refused', action: 'key.delete' })).toBe(
    'Ada was not allowed to do this: deleted API key checkout.',
  )
  expect(describe({ action: 'widget.spin_up' })).toBe('Ada spin up API key checkout.')
})

test('actions to choose have different names', () => {
  const labels = listActions().map(({ label }) => label)
  expect(new Set(labels).size).toBe(labels.length)
  expect(describeAction('byok_key.create')).toBe('Created provider key')
})
