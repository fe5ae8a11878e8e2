import { expect, test } from 'bun:test'
import type { Schemas } from '../../api/client.ts'
import { describePolicy } from './policy.ts'

const free = { value: null, layers: [] }
const list = { values: null, layers: [] }
const retention = { value: false, layers: [] }

const open: Schemas['KeyPolicy'] = {
  key_hash: 'a'.repeat(64),
  allowed_data_regions: list,
  allowed_models: list,
  allowed_providers: list,
  ignored_models: [],
  ignored_providers: [],
  content_filter_builtins: [],
  content_filters: [],
  moderation: [],
  external_checks: [],
  enable_free_model_publication: free,
  enable_free_model_training: free,
  enable_paid_model_training: free,
  enforce_zdr: {
    vendor_a: retention,
    vendor_b: retention,
    vendor_c: retention,
    vendor_d: retention,
    other: retention,
  },
  unscannable_content: { value: 'allow', layers: [] },
  budgets: [],
  dry_run: null,
  layers: [],
}

test('a key without guardrails has no rules', () => {
  expect(describePolicy(open)).toEqual([])
})

test('each rule says what it does and where it is set', () => {
  const policy: Schemas['KeyPolicy'] = {
    ...open,
    allowed_models: { values: [], layers: ['organization', 'key'] },
    ignored_providers: [{ value: 'acme', layers: ['workspace'] }],
    content_filters: [
      {
        pattern: 'secret',
        action: 'block',
        label: null,
        scope: 'input',
        sources: [{ layer: 'member', action: 'block' }],
      },
    ],
    enable_paid_model_training: { value: false, layers: ['organization'] },
    enforce_zdr: { ...open.enforce_zdr, other: { value: true, layers: ['key'] } },
    budgets: [
      {
        layer: 'workspace',
        guardrail_id: '00000000-0000-0000-0000-000000000000',
        limit_usd: 5,
        reset_interval: 'daily',
        include_byok_in_budgets: false,
        scope: 'member',
      },
    ],
  }
  expect(describePolicy(policy)).toEqual([
    { rule: 'Allowed models', value: 'none', layers: ['organization', 'key'] },
    { rule: 'Excluded provider', value: 'acme', layers: ['workspace'] },
    { rule: 'Filter of the input: secret', value: 'block', layers: ['member'] },
    { rule: 'Paid models that train on prompts', value: 'excluded', layers: ['organization'] },
    { rule: 'Zero data retention', value: 'required for some models', layers: ['key'] },
    { rule: 'Budget of all keys of its creator', value: '$5.00 daily', layers: ['workspace'] },
  ])
})
