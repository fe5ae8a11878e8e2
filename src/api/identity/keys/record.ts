import { z } from 'zod'
import { dataRegions, priorities } from '../../../formats/vocabulary.ts'
import type { KeyLimitUse } from '../../../governance/limits/key-limits.ts'
import { decodeAmount } from '../../../governance/limits/limit-fields.ts'
import { limitMeasures, limitWindows } from '../../../governance/limits/limit-rule.ts'
import { tagRulesRecord, toTagRulesRecord } from '../../../governance/tags/tag-schema.ts'
import { managedBy } from '../../../http/managed-by.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import { computeRemainingLimit, type KeyUsage } from '../../../ledger/usage.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

export const limitReset = z.enum(['daily', 'weekly', 'monthly'])

const usageFields = {
  usage: z.number().describe('Credits used in total, in USD.'),
  usage_daily: z.number().describe('Credits used in the current UTC day, in USD.'),
  usage_weekly: z.number().describe('Credits used in the current UTC week, Monday to Sunday, in USD.'),
  usage_monthly: z.number().describe('Credits used in the current UTC month, in USD.'),
  byok_usage: z.number().describe('The list price of requests with BYOK keys, in USD.'),
  byok_usage_daily: z.number(),
  byok_usage_weekly: z.number(),
  byok_usage_monthly: z.number(),
}

const priorityFields = {
  priority: z
    .enum(priorities)
    .describe('An extension: which requests pass first where the rate of a provider is nearly used.'),
  max_priority: z
    .enum(priorities)
    .nullable()
    .describe('An extension: the highest priority that a request may ask for; null: `priority`.'),
}

const limitFields = {
  limit: z.number().nullable().describe('The spending limit in USD; null if unlimited.'),
  limit_remaining: z.number().nullable(),
  limit_reset: limitReset.nullable().describe('null if the limit never resets.'),
  include_byok_in_limit: z.boolean(),
}

export const keyRecord = z
  .strictObject({
    hash: z.string(),
    name: z.string(),
    label: z.string(),
    disabled: z.boolean(),
    ...limitFields,
    ...usageFields,
    created_at: z.string(),
    updated_at: z.string().nullable(),
    last_used_at: z
      .string()
      .nullable()
      .describe(
        'An extension: when a request with this key last began or ended, within a second; null if none did. Of requests before this was recorded, only the UTC day is known.',
      ),
    expires_at: z.string().nullable(),
    external_user: z.string().nullable(),
    tags: tagRulesRecord
      .nullable()
      .describe('An extension: the rules about the tags of its requests; null if there are none.'),
    creator_user_id: z.string().nullable(),
    tier: z.string().nullable().describe('An extension: the tier whose limits apply to it.'),
    ...priorityFields,
    workspace_id: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'ApiKey' })

const keyLimit = z.strictObject({
  kind: z
    .enum(['key', 'member', 'workspace', 'guardrail', 'limit'])
    .describe('What has the limit; `limit` is a declared one.'),
  name: z.string().nullable(),
  measure: z.enum(limitMeasures),
  window: z.enum(limitWindows),
  amount: z.number().describe('US dollars, or a number of requests or tokens.'),
  used: z.number().describe('What was used, and is reserved for requests in progress.'),
  remaining: z.number(),
  resets_at: z.string().nullable(),
})

export const currentKey = z
  .strictObject({
    label: z.string(),
    ...limitFields,
    ...usageFields,
    is_free_tier: z.boolean().describe('True until credits are purchased.'),
    is_management_key: z.boolean(),
    is_provisioning_key: z.boolean().meta({ deprecated: true }),
    creator_user_id: z.string().nullable(),
    expires_at: z.string().nullable(),
    organization_id: z.string().nullable(),
    workspace_id: z.string().nullable(),
    ...priorityFields,
    allowed_data_regions: z.array(z.enum(dataRegions)),
    limits: z
      .array(keyLimit)
      .describe(
        'An extension: the limits that every request of the key counts in, the closest first. Limits for end users, tags, models and providers are in `POST /quote`, for a request.',
      ),
    free_model_daily_requests: z.strictObject({
      limit: z.int(),
      remaining: z.int(),
      used: z.int(),
    }),
    rate_limit: z
      .strictObject({ interval: z.string(), note: z.string(), requests: z.int() })
      .meta({ deprecated: true }),
  })
  .meta({ id: 'CurrentKey' })

export function toKeyLimits(limits: readonly KeyLimitUse[]): z.input<typeof keyLimit>[] {
  return limits.flatMap(({ kind, name, measure, window, amount, used, resetsAt }) => {
    if (kind === 'credits') return []
    return {
      kind,
      name,
      measure,
      window,
      amount: decodeAmount(measure, amount),
      used: decodeAmount(measure, used),
      remaining: decodeAmount(measure, amount > used ? amount - used : 0n),
      resets_at: resetsAt === null ? null : new Date(resetsAt).toISOString(),
    }
  })
}

export function toKeyRecord(key: ApiKey, usage: KeyUsage): z.input<typeof keyRecord> {
  return {
    hash: key.hash,
    name: key.name,
    label: key.label,
    disabled: key.disabled === 1 || key.suspended === 1,
    ...toLimitFields(key, usage),
    ...toUsageFields(usage),
    created_at: key.created_at,
    updated_at: key.updated_at,
    last_used_at: usage.lastUsedAt,
    expires_at: key.expires_at,
    external_user: key.external_user,
    tags: toTagRulesRecord(key.tag_rules),
    creator_user_id: key.creator_user_id,
    tier: key.tier,
    ...toPriorityFields(key),
    workspace_id: key.workspace_id,
  }
}

export function toPriorityFields({ priority, max_priority }: ApiKey) {
  return { priority, max_priority }
}

export function toLimitFields(key: ApiKey, usage: KeyUsage) {
  const includeByok = key.include_byok_in_limit === 1
  const remaining = computeRemainingLimit(
    { amount: key.limit_nanos, reset: key.limit_reset, includeByok },
    usage,
  )
  return {
    limit: key.limit_nanos === null ? null : usdFromNanos(key.limit_nanos),
    limit_remaining: remaining === null ? null : usdFromNanos(remaining),
    limit_reset: key.limit_reset,
    include_byok_in_limit: includeByok,
  }
}

export function toUsageFields({ credits, byok }: KeyUsage) {
  return {
    usage: usdFromNanos(credits.total),
    usage_daily: usdFromNanos(credits.daily),
    usage_weekly: usdFromNanos(credits.weekly),
    usage_monthly: usdFromNanos(credits.monthly),
    byok_usage: usdFromNanos(byok.total),
    byok_usage_daily: usdFromNanos(byok.daily),
    byok_usage_weekly: usdFromNanos(byok.weekly),
    byok_usage_monthly: usdFromNanos(byok.monthly),
  }
}
