import { z } from 'zod'
import { reasoningEfforts } from '../vocabulary.ts'
import { cacheModes, cacheScopes, minCacheThreshold } from './cache-fields.ts'
import { fallbacks } from './fallbacks.ts'
import { plugin } from './plugins.ts'
import { providerPreferences } from './preferences.ts'
import { stopServerToolsWhen } from './server-tools.ts'

export const cacheControl = z
  .looseObject({ type: z.literal('ephemeral'), ttl: z.enum(['5m', '1h']).optional() })
  .meta({ id: 'CacheControl' })

const traceText = z.string().optional()
const trace = z
  .looseObject({
    trace_id: traceText,
    trace_name: traceText,
    span_name: traceText,
    generation_name: traceText,
    parent_span_id: traceText,
  })
  .meta({ id: 'Trace' })

/** Fields with the same name in the chat, Messages and Responses formats. */
export const sharedFields = {
  models: z.array(z.string().min(1)).optional().describe('Fallback models, in order'),
  fallbacks: fallbacks.nullish().describe('Fallback models for any reason, or by reason'),
  provider: providerPreferences.nullish(),
  plugins: z.array(plugin).optional(),
  route: z.enum(['fallback', 'sort']).nullish().meta({ deprecated: true }),
  session_id: z.string().max(256).optional(),
  stream: z.boolean().optional(),
  stop_server_tools_when: stopServerToolsWhen.optional(),
  max_tool_calls: z
    .int()
    .min(0)
    .nullish()
    .describe('The most calls of server tools; 30 if absent, which is the maximum.'),
  cache_control: cacheControl.optional(),
  trace: trace.optional(),
  cache_enabled: z.boolean().optional().describe('Whether replies may be cached. Only in presets'),
  cache_ttl_seconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe('Lifetime of a cached reply in seconds. Only in presets'),
  cache_mode: z
    .enum(cacheModes)
    .optional()
    .describe('Whether requests must be identical, or only similar (`semantic`). Only in presets'),
  cache_scope: z
    .enum(cacheScopes)
    .optional()
    .describe('Whose replies the semantic cache may return. Only in presets'),
  cache_threshold: z
    .number()
    .min(minCacheThreshold)
    .max(1)
    .optional()
    .describe('The similarity that the semantic cache requires. Only in presets'),
}

export const serviceTier = z.enum(['auto', 'default', 'fast', 'flex', 'priority', 'scale']).nullish()
export const verbosity = z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish()
export const reasoningEffort = z.enum(reasoningEfforts).nullish()

const shortText = z.string().min(1).max(256)
/** Vendors add values faster than any enum here: a new value is for the upstream to validate. */
export const anyShortText = shortText.nullish()
export const anyCacheControl = z.looseObject({ type: shortText, ttl: shortText.optional() }).nullish()
export const anyReasoning = z
  .looseObject({
    effort: anyShortText,
    summary: anyShortText,
    enabled: z.boolean().nullish(),
    max_tokens: z.int().min(0).nullish(),
    exclude: z.boolean().nullish(),
    context: anyShortText,
    mode: anyShortText,
  })
  .nullish()

export const reasoning = z
  .looseObject({
    effort: reasoningEffort,
    summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
    enabled: z.boolean().nullish(),
    max_tokens: z.int().min(0).nullish(),
    exclude: z.boolean().nullish(),
    context: z.enum(['auto', 'all_turns', 'current_turn']).nullish(),
    mode: z.enum(['standard', 'pro']).nullish(),
  })
  .meta({ id: 'Reasoning' })

const metadataName = z
  .string()
  .max(64)
  .regex(/^[^[\]]*$/, 'must not contain brackets')

/** Key-value pairs a client attaches to an object. */
export const metadataPairs = z
  .record(metadataName, z.string().max(512))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'must have at most 16 pairs')
  .meta({ override: { maxProperties: 16 } })

const tagTexts = z.array(z.string().max(512)).max(100)

/** Key-value pairs of a request, and tags as a list, which some gateways accept. Both become tags of the request. */
export const requestMetadata = z
  .record(metadataName, z.union([z.string().max(512), tagTexts]))
  .refine((pairs) => Object.keys(pairs).length <= 16, 'must have at most 16 pairs')
  .refine(
    (pairs) => Object.entries(pairs).every(([name, value]) => name === 'tags' || typeof value === 'string'),
    'must have texts as values, except for tags',
  )
  .meta({ override: { maxProperties: 16 } })
  .describe('Stored with the generation as tags, and sent to providers that accept it')

/** Further fields of both the chat and the Responses format. */
export const requestOptionFields = {
  modalities: z.array(z.string()).nullish(),
  image_config: z.looseObject({}).nullish(),
  prompt_cache_key: z.string().nullish(),
  prompt_cache_options: z.looseObject({}).nullish(),
  debug: z.looseObject({}).nullish(),
  store: z.boolean().nullish(),
}
