import { z } from 'zod'
import { limitSources } from '../../../governance/limits/attached-limit-store.ts'
import { limitFields, matchFields } from '../../../governance/limits/limit-fields.ts'
import { managedBy } from '../../../http/managed-by.ts'

const match = {
  workspace_id: z.uuid().nullish().describe('Requests in this workspace.'),
  user_id: z.string().min(1).max(100).nullish().describe('Requests with keys that this member created.'),
  key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the hash of a key')
    .nullish()
    .describe('Requests with this key.'),
  ...matchFields,
}

export const createLimitBody = z.strictObject({
  name: limitFields.name,
  measure: limitFields.measure,
  window: limitFields.window.optional(),
  amount: limitFields.amount,
  include_byok: limitFields.include_byok.default(false),
  enabled: limitFields.enabled.default(true),
  match: z.strictObject(match).default({}),
  per: limitFields.per.default([]),
})

export const updateLimitBody = z.strictObject({
  name: limitFields.name.optional(),
  amount: limitFields.amount.optional(),
  include_byok: limitFields.include_byok.optional(),
  enabled: limitFields.enabled.optional(),
})

export const limitRecord = z
  .strictObject({
    id: z.string(),
    source: z
      .enum(limitSources)
      .describe(
        '`limit` is a declared limit, `settings` one of headgate.yaml, which can only be changed there. The limits of keys, members and guardrails and the budgets of workspaces belong to these: they are deleted with them, and their own operations show them too.',
      ),
    ...limitFields,
    match: z.strictObject({
      workspace_id: z.uuid().nullable(),
      user_id: z.string().nullable(),
      key_hash: z.string().nullable(),
      tier: z.string().nullable(),
      guardrail_id: z
        .string()
        .nullable()
        .describe('Requests that this guardrail applies to, for each key or member it is assigned to.'),
      end_user: z.string().nullable(),
      tags: z.array(z.string()),
      models: z.array(z.string()),
      providers: z.array(z.string()),
    }),
    per: z.array(z.string()),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'Limit' })

export type LimitRecord = z.input<typeof limitRecord>
