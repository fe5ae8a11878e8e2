import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import { exchangeFormats } from '../../../inference/shadow/exchange.ts'
import { maxUsd, nanosFromUsd, usdFromNanos } from '../../../platform/money/money.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { differenceKinds } from '../../../storage/shadows/comparison.ts'
import { decodeModels, decodeTarget, type ShadowRow } from '../../../storage/shadows/shadow.ts'

const modelName = z.string().min(1).max(256)
const slugs = z.array(z.string().min(1).max(64)).min(1).max(20)

const target = z
  .strictObject({
    model: modelName.nullish().describe('The model of the mirror. By default that of the request.'),
    only: slugs.nullish().describe('Slugs of the only providers that mirrors are sent to.'),
    ignore: slugs.nullish().describe('Slugs of providers that mirrors are not sent to.'),
  })
  .refine((value) => Object.values(value).some((field) => field != null), 'must have model, only or ignore')

const changeable = {
  name: nameField(100),
  enabled: z.boolean().optional().describe('Defaults to true.'),
  share: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe(
      'The share of the requests that is mirrored, from 0 to 1 in millionths. Defaults to 0: only exchanges that are posted are compared.',
    ),
  models: z
    .array(modelName)
    .min(1)
    .max(100)
    .nullish()
    .describe('Mirror only requests that name one of these models. By default all.'),
  target: target.nullish().describe('Where mirrors are sent. By default as the request itself.'),
  daily_usd: z
    .number()
    .positive()
    .max(maxUsd)
    .refine((amount) => (nanosFromUsd(amount) ?? 0n) > 0n, 'must have at most 9 decimals')
    .describe('What mirrors may cost in a UTC day. A mirror whose worst case does not fit is skipped.'),
  max_body_bytes: z
    .int()
    .min(1024)
    .max(4 * 1024 * 1024)
    .optional()
    .describe('Larger requests are not mirrored. Defaults to 262144.'),
  timeout_seconds: z
    .int()
    .min(1)
    .max(600)
    .optional()
    .describe('The time that a mirror has. Defaults to 120.'),
  concurrency: z
    .int()
    .min(1)
    .max(100)
    .optional()
    .describe('Mirrors of a node at a time; others wait. Defaults to 8.'),
}

export const createShadowBody = z.strictObject({
  ...changeable,
  workspace_id: z
    .uuid()
    .nullish()
    .describe('The workspace whose requests are mirrored. By default those of the whole organization.'),
})
export type ShadowDraft = z.output<typeof createShadowBody>

export const updateShadowBody = z.strictObject(changeable).partial()
export type ShadowChange = z.output<typeof updateShadowBody>

export const shadowRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid().nullable(),
    name: z.string(),
    enabled: z.boolean(),
    share: z.number(),
    models: z.array(z.string()).nullable(),
    target: z.strictObject({
      model: z.string().nullable(),
      only: z.array(z.string()).nullable(),
      ignore: z.array(z.string()).nullable(),
    }),
    daily_usd: z.number(),
    max_body_bytes: z.int(),
    timeout_seconds: z.int(),
    concurrency: z.int(),
    managed_by: managedBy,
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'Shadow' })

export function toShadowRecord(row: ShadowRow): z.output<typeof shadowRecord> {
  const { only, ignore, model } = decodeTarget(row)
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    name: row.name,
    enabled: row.enabled === 1,
    share: row.share_ppm / 1_000_000,
    models: decodeModels(row),
    target: { model, only: only && [...only], ignore: ignore && [...ignore] },
    daily_usd: usdFromNanos(row.daily_nanos),
    max_body_bytes: row.max_body_bytes,
    timeout_seconds: row.timeout_ms / 1000,
    concurrency: row.concurrency,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

/** The columns that a body sets; those it does not name are undefined. */
export function toColumns({ target: sent, ...body }: ShadowChange) {
  return {
    name: body.name,
    enabled: body.enabled === undefined ? undefined : body.enabled ? (1 as const) : (0 as const),
    share_ppm: body.share === undefined ? undefined : Math.round(body.share * 1_000_000),
    models: body.models === undefined ? undefined : body.models && JSON.stringify(body.models),
    target: sent === undefined ? undefined : encodeTarget(sent),
    daily_nanos: body.daily_usd === undefined ? undefined : nanosFromUsd(body.daily_usd),
    max_body_bytes: body.max_body_bytes,
    timeout_ms: body.timeout_seconds === undefined ? undefined : body.timeout_seconds * 1000,
    concurrency: body.concurrency,
  }
}

export function encodeTarget(sent: ShadowChange['target']): string {
  const { model = null, only = null, ignore = null } = sent ?? {}
  return JSON.stringify({ model, only, ignore })
}

/** The target of an audit event. */
export function describeShadow({ id, name, workspace_id }: ShadowRow) {
  return { target: { type: 'shadow', id, name }, workspaceId: workspace_id }
}

const side = z
  .strictObject({
    generation_id: z.string().nullable().describe('Its record; null for a request to another gateway.'),
    external_id: z.string().nullable().describe('The id that another gateway gave the request.'),
    model: z.string(),
    provider: z.string(),
    status: z.enum(['completed', 'failed', 'cancelled']),
    error: z.string().nullable(),
    finish_reason: z.string().nullable(),
    prompt_tokens: z.int().nullable(),
    completion_tokens: z.int().nullable(),
    cost_usd: z.number().nullable().describe("The provider's price; null if it is unknown."),
    latency_ms: z.int().nullable(),
    first_token_ms: z.int().nullable().describe('null if the reply was not streamed.'),
  })
  .meta({ id: 'ShadowSide' })

export const comparisonRecord = z
  .strictObject({
    id: z.string(),
    created_at: z.string(),
    original: side,
    mirror: side,
    differences: z.array(
      z.strictObject({
        kind: z.enum(differenceKinds),
        path: z.string().nullable(),
        original: z.string().nullable(),
        mirror: z.string().nullable(),
      }),
    ),
    omitted: z.int().describe('Differences that are not in the list, because there are too many.'),
    structured_output: z
      .strictObject({ original: z.boolean().nullable(), mirror: z.boolean().nullable() })
      .describe('Whether each reply meets the `response_format`; null if none was requested.'),
  })
  .meta({ id: 'ShadowComparison' })

export const exchangeBody = z
  .strictObject({
    id: z.string().min(1).max(256).nullish().describe('The id of the request in the other gateway.'),
    format: z.enum(exchangeFormats).optional().describe('The format of request and reply. Defaults to chat.'),
    request: z.looseObject({}).describe('The body of the request.'),
    reply: z.looseObject({}).nullish().describe('The body of the whole reply; null if the request failed.'),
    error: z
      .string()
      .regex(/^[\w.-]{1,64}$/, 'must be a code')
      .nullish()
      .describe('A code for the error, such as its status.'),
    model: modelName.nullish(),
    provider: z.string().min(1).max(64).nullish(),
    cost_usd: z.number().min(0).max(maxUsd).nullish(),
    latency_ms: z.int().min(0).max(86_400_000).nullish(),
    first_token_ms: z.int().min(0).max(86_400_000).nullish(),
  })
  .meta({ id: 'ShadowExchange' })

export const liteLlmBody = z
  .looseObject({ call_type: z.string(), startTime: z.union([z.number(), z.string()]) })
  .meta({ id: 'LiteLlmRecord' })
