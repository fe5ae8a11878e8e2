import { z } from 'zod'
import { domains, searchMode, userLocation, xSearch } from './server-tools.ts'

const patterns = z.array(z.string().max(1024)).max(1024).optional()
const count = z.int().min(0).optional()

const autoRouter = {
  allowed_models: patterns,
  excluded_models: patterns,
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
  cost_quality_tradeoff: z.int().min(0).max(10).optional().meta({ deprecated: true }),
}

/** The settings of each plugin. `src/inference/plugins` has what they do. */
export const pluginSettings = {
  'auto-router': z.strictObject({ ...autoRouter, pin_model: z.boolean().optional() }),
  'auto-beta-router': z.strictObject(autoRouter),
  'context-compression': z.strictObject({ engine: z.literal('middle-out').optional() }),
  'file-parser': z.strictObject({
    pdf: z
      .strictObject({ engine: z.enum(['mistral-ocr', 'native', 'cloudflare-ai', 'pdf-text']).optional() })
      .optional(),
  }),
  fusion: z.strictObject({
    model: z.string().optional(),
    analysis_models: z.array(z.string()).min(1).max(8).optional(),
    max_tool_calls: z.int().min(1).max(16).optional(),
    preset: z.enum(['general-high', 'general-budget', 'general-fast']).optional(),
    tools: z
      .array(z.looseObject({ type: z.string() }))
      .max(8)
      .optional(),
  }),
  moderation: z.strictObject({}),
  'pareto-router': z.strictObject({
    max_price: z.number().min(0).optional(),
    min_coding_score: z.number().min(0).max(1).optional(),
    price_source: z.enum(['prompt', 'weighted_avg']).optional(),
  }),
  'response-healing': z.strictObject({}),
  'switchyard-router': z.strictObject({
    algorithm: z.enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough']).optional(),
  }),
  web: z.strictObject({
    // Not an enum: the search validates the engine.
    engine: z.string().optional(),
    include_domains: domains,
    exclude_domains: domains,
    max_results: count,
    max_uses: count,
    mode: searchMode.optional(),
    search_prompt: z.string().optional(),
    user_location: userLocation.nullish(),
    x_search: xSearch.optional(),
  }),
  'web-fetch': z.strictObject({
    allowed_domains: domains,
    blocked_domains: domains,
    max_content_tokens: count,
    max_uses: count,
  }),
} as const satisfies Record<string, z.ZodObject>

export type PluginId = keyof typeof pluginSettings
export type PluginSettings<Id extends PluginId> = z.infer<(typeof pluginSettings)[Id]>

const enabled = z.boolean().optional().describe('Whether it applies. False switches off a default')

function declareEntry<Id extends PluginId>(id: Id) {
  return z.strictObject({ id: z.literal(id), enabled, ...pluginSettings[id].shape })
}

const entries = [
  declareEntry('auto-router'),
  declareEntry('auto-beta-router'),
  declareEntry('context-compression'),
  declareEntry('file-parser'),
  declareEntry('fusion'),
  declareEntry('moderation'),
  declareEntry('pareto-router'),
  declareEntry('response-healing'),
  declareEntry('switchyard-router'),
  declareEntry('web'),
  declareEntry('web-fetch'),
] as const

/** An entry of `plugins`. Runs once per request, before or after the model. */
export const plugin = z.discriminatedUnion('id', entries).meta({ id: 'Plugin' })

/** A validated entry. */
export interface PluginEntry {
  id: PluginId
  enabled?: boolean | undefined
  [setting: string]: unknown
}

export interface DefaultPlugin extends PluginEntry {
  prevent_overrides?: boolean | undefined
}

const preventOverrides = z
  .boolean()
  .optional()
  .describe('Whether these settings apply even if a request has others')

/** A plugin for the requests of an account that do not name it. */
export const defaultPlugin = z
  .discriminatedUnion('id', entries.map(declareDefault) as [z.ZodObject, ...z.ZodObject[]])
  .meta({ id: 'DefaultPlugin' }) as unknown as z.ZodType<DefaultPlugin>

function declareDefault(entry: z.ZodObject): z.ZodObject {
  return entry.extend({ prevent_overrides: preventOverrides })
}
