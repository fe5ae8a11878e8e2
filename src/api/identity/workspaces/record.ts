import { z } from 'zod'
import { buildWorkspaceGuardrail } from '../../../governance/policy/default-guardrail.ts'
import { encodeTagRules } from '../../../governance/tags/rules.ts'
import { tagRulesBody, tagRulesRecord, toTagRulesRecord } from '../../../governance/tags/tag-schema.ts'
import { managedBy } from '../../../http/managed-by.ts'
import { slugPattern, type Workspace, type WorkspaceSettings } from '../../../identity/workspaces.ts'
import { uuidPattern } from '../../../platform/crypto/ids.ts'
import { decodeList, encodeList, toFlag } from '../../../platform/db/values.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'

const serverTool = z.enum([
  'service:advisor',
  'service:apply_patch',
  'service:bash',
  'service:datetime',
  'service:experimental__search_models',
  'service:fusion',
  'service:image_generation',
  'service:shell',
  'service:subagent',
  'service:tool_search',
  'service:web_fetch',
  'service:web_search',
])

export const workspaceRecord = z
  .strictObject({
    id: z.uuid(),
    slug: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    default_guardrail_id: z
      .uuid()
      .describe('The id of the default guardrail, which is stored on its first update.'),
    default_text_model: z.string().nullable(),
    default_image_model: z.string().nullable(),
    default_provider_sort: z.string().nullable(),
    include_byok_in_budgets: z.boolean(),
    is_observability_io_logging_enabled: z.boolean(),
    io_logging_sampling_rate: z.number(),
    io_logging_api_key_ids: z
      .array(z.int())
      .nullable()
      .describe('The ids of the keys whose input and output are logged; null for all keys.'),
    is_data_discount_logging_enabled: z.boolean(),
    is_prompt_caching_enabled: z
      .boolean()
      .describe('Whether breakpoints for the prompt caches of providers are added to its requests.'),
    is_observability_broadcast_enabled: z
      .boolean()
      .describe('Whether the destinations of the workspace receive its finished requests.'),
    disabled_server_tools: z.array(z.string()).nullable(),
    tags: tagRulesRecord
      .nullable()
      .describe('The rules about the tags of its requests; null if there are none.'),
    video_callback_url: z.string().nullable(),
    has_video_callback_secret: z.boolean(),
    created_by: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string().nullable(),
    managed_by: managedBy,
  })
  .meta({ id: 'Workspace' })

const name = nameField(100)
const slug = z
  .string()
  .min(1)
  .max(50)
  .regex(slugPattern, 'must be lower-case letters and digits, in groups joined by single hyphens')
  .refine((text) => !uuidPattern.test(text), 'must not look like a UUID')
  .meta({ override: { not: { pattern: uuidPattern.source } } })
const modelSlug = z.string().min(1).max(200)

const settingFields = {
  description: z.string().max(500).nullish(),
  default_text_model: modelSlug.nullish(),
  default_image_model: modelSlug.nullish(),
  default_provider_sort: z.enum(['price', 'throughput', 'latency', 'exacto']).nullish(),
  is_observability_io_logging_enabled: z.boolean().optional(),
  io_logging_sampling_rate: z.number().min(0.0001).max(1).optional(),
  io_logging_api_key_ids: z
    .array(z.int().min(1))
    .max(1000)
    .nullish()
    .describe('The ids of the keys whose input and output are logged; null for all keys.'),
  is_data_discount_logging_enabled: z.boolean().optional(),
  is_prompt_caching_enabled: z.boolean().optional(),
  is_observability_broadcast_enabled: z.boolean().optional(),
  disabled_server_tools: z
    .array(serverTool)
    .max(100)
    .nullish()
    .describe('An empty list and null both clear it.'),
  tags: tagRulesBody.nullish().describe('Rules about the tags of its requests; null removes them.'),
}

export const createBody = z.strictObject({ name, slug, ...settingFields })
export const updateBody = z.strictObject({
  name: name.optional(),
  slug: slug.optional(),
  ...settingFields,
  video_callback_url: z
    .url({ protocol: /^https?$/ })
    .max(2048)
    .nullish()
    .describe('The https URL that receives webhooks of video jobs whose request names no other.'),
  video_callback_secret: z
    .string()
    .min(16)
    .max(256)
    .nullish()
    .describe('Signs the webhooks of video jobs. It is never returned.'),
})

/** Converts only the fields that were sent. */
export function toSettingColumns(
  body: Omit<z.output<typeof updateBody>, 'video_callback_secret'>,
): Partial<WorkspaceSettings> {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.slug !== undefined && { slug: body.slug }),
    ...(body.description !== undefined && { description: body.description }),
    ...(body.default_text_model !== undefined && { default_text_model: body.default_text_model }),
    ...(body.default_image_model !== undefined && { default_image_model: body.default_image_model }),
    ...(body.default_provider_sort !== undefined && { default_provider_sort: body.default_provider_sort }),
    ...(body.is_observability_io_logging_enabled !== undefined && {
      io_logging_enabled: toFlag(body.is_observability_io_logging_enabled),
    }),
    ...(body.io_logging_sampling_rate !== undefined && {
      io_logging_sampling_rate: body.io_logging_sampling_rate,
    }),
    ...(body.io_logging_api_key_ids !== undefined && {
      io_logging_api_key_ids: encodeList(body.io_logging_api_key_ids),
    }),
    ...(body.is_data_discount_logging_enabled !== undefined && {
      data_discount_logging_enabled: toFlag(body.is_data_discount_logging_enabled),
    }),
    ...(body.is_prompt_caching_enabled !== undefined && {
      prompt_caching: toFlag(body.is_prompt_caching_enabled),
    }),
    ...(body.is_observability_broadcast_enabled !== undefined && {
      broadcast_enabled: toFlag(body.is_observability_broadcast_enabled),
    }),
    ...(body.video_callback_url !== undefined && { video_callback_url: body.video_callback_url }),
    ...(body.tags !== undefined && { tag_rules: encodeTagRules(body.tags) }),
    ...(body.disabled_server_tools !== undefined && {
      disabled_server_tools: body.disabled_server_tools?.length
        ? encodeList(body.disabled_server_tools)
        : null,
    }),
  }
}

export function toWorkspaceRecord(workspace: Workspace): z.input<typeof workspaceRecord> {
  return {
    id: workspace.id,
    slug: workspace.slug,
    name: workspace.name,
    description: workspace.description,
    default_guardrail_id: buildWorkspaceGuardrail(workspace.id).id,
    default_text_model: workspace.default_text_model,
    default_image_model: workspace.default_image_model,
    default_provider_sort: workspace.default_provider_sort,
    include_byok_in_budgets: workspace.include_byok_in_budgets === 1,
    is_observability_io_logging_enabled: workspace.io_logging_enabled === 1,
    io_logging_sampling_rate: workspace.io_logging_sampling_rate,
    io_logging_api_key_ids: decodeList(workspace.io_logging_api_key_ids),
    is_data_discount_logging_enabled: workspace.data_discount_logging_enabled === 1,
    is_prompt_caching_enabled: workspace.prompt_caching === 1,
    is_observability_broadcast_enabled: workspace.broadcast_enabled === 1,
    disabled_server_tools: decodeList(workspace.disabled_server_tools),
    tags: toTagRulesRecord(workspace.tag_rules),
    video_callback_url: workspace.video_callback_url,
    has_video_callback_secret: workspace.sealed_video_secret !== null,
    created_by: workspace.created_by,
    created_at: workspace.created_at,
    updated_at: workspace.updated_at,
  }
}

/** Describes a workspace for the audit log. */
export function describeWorkspace({ id, name }: Workspace) {
  return { target: { type: 'workspace', id, name }, workspaceId: id }
}
