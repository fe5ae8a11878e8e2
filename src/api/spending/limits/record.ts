import { z } from 'zod'
import { limitSources } from '../../../governance/limits/attached-limit-store.ts'
import {
  type LimitMeasure,
  limitDimensions,
  limitMeasures,
  limitWindows,
} from '../../../governance/limits/limit-rule.ts'
import {
  isTagName,
  isTagValue,
  maxNameLength,
  maxValueLength,
  splitTag,
} from '../../../governance/tags/tag.ts'
import { maxUsd, roundToNanos, usdFromNanos } from '../../../platform/money/money.ts'
import { lineField, nameField, textLine } from '../../../platform/validation/name-schema.ts'

const maxCount = 1e15
const maxValues = 100

const maxTagLength = maxNameLength + maxValueLength + 1
const tag = z
  .string()
  .max(maxTagLength)
  .transform((text, context) => {
    const { name, value } = splitTag(text)
    if (isTagName(name) && isTagValue(value)) return `${name}=${value}`
    context.addIssue({ code: 'custom', message: 'must be a tag such as project=apollo' })
    return z.NEVER
  })
  .meta({ override: { type: 'string', maxLength: maxTagLength } })
const dimension = z
  .union([
    z.enum(limitDimensions),
    z
      .string()
      .regex(/^tag:[a-z0-9_.-]{1,64}$/, `must be one of ${limitDimensions.join(', ')}, or tag:<name>`),
  ])
  .describe('`tag:project` counts each value of the tag `project` by itself.')

const matchFields = {
  workspace_id: z.uuid().nullish().describe('Requests in this workspace.'),
  user_id: z.string().min(1).max(100).nullish().describe('Requests with keys that this member created.'),
  key_hash: z
    .string()
    .regex(/^[0-9a-f]{64}$/, 'must be the hash of a key')
    .nullish()
    .describe('Requests with this key.'),
  tier: lineField(64).nullish().describe('Requests with keys of this tier.'),
  end_user: textLine(256).min(1).nullish().describe('Requests for this end user.'),
  tags: z.array(tag).max(maxValues).optional().describe('Requests that have all of these tags.'),
  models: z
    .array(lineField(256))
    .max(maxValues)
    .optional()
    .describe('Requests that one of these models serves. A name may end with `*`: `openai/*`.'),
  providers: z
    .array(lineField(128))
    .max(maxValues)
    .optional()
    .describe('Requests that one of these providers or endpoints serves.'),
}

const limitFields = {
  name: nameField(100),
  measure: z.enum(limitMeasures).describe('What is limited: `usd` is spending.'),
  window: z
    .enum(limitWindows)
    .nullable()
    .describe(
      'Seconds, minutes and hours slide; days, weeks and months are those of the calendar, in UTC. null for `concurrent_requests`.',
    ),
  amount: z.number().min(0).max(maxCount).describe('US dollars, or a whole number of requests or tokens.'),
  include_byok: z.boolean().describe('Whether dollars include the list price of requests with BYOK keys.'),
  enabled: z.boolean(),
  per: z
    .array(dimension)
    .max(4)
    .describe(
      'What is counted separately: `["end_user"]` gives each end user the whole amount. Requests without a value are counted together.',
    ),
}

export const createLimitBody = z.strictObject({
  name: limitFields.name,
  measure: limitFields.measure,
  window: limitFields.window.optional(),
  amount: limitFields.amount,
  include_byok: limitFields.include_byok.default(false),
  enabled: limitFields.enabled.default(true),
  match: z.strictObject(matchFields).default({}),
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
        '`limit` is a declared limit. The limits of keys, members and guardrails and the budgets of workspaces belong to these: they are deleted with them, and their own operations show them too.',
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
  })
  .meta({ id: 'Limit' })

export type LimitRecord = z.input<typeof limitRecord>

/** The amount as it is stored; undefined if the measure does not have such amounts. */
export function encodeAmount(measure: LimitMeasure, amount: number): bigint | undefined {
  if (measure === 'usd') return amount > maxUsd ? undefined : roundToNanos(amount)
  return Number.isSafeInteger(amount) ? BigInt(amount) : undefined
}

export function decodeAmount(measure: LimitMeasure, amount: bigint): number {
  return measure === 'usd' ? usdFromNanos(amount) : Number(amount)
}
