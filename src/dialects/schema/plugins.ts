import { z } from 'zod'
import { searchMode, userLocation, xSearch } from './server-tools.ts'

const enabled = z.boolean().optional()
const patterns = z.array(z.string().max(1024)).max(1024).optional()
const domains = z.array(z.string()).optional()
const count = z.int().min(0).optional()

const autoRouter = {
  enabled,
  allowed_models: patterns,
  excluded_models: patterns,
  cost_tier: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).optional(),
  cost_quality_tradeoff: z.int().min(0).max(10).optional().meta({ deprecated: true }),
}

const fusion = z.looseObject({
  id: z.literal('fusion'),
  enabled,
  model: z.string().optional(),
  analysis_models: z.array(z.string()).min(1).max(8).optional(),
  max_tool_calls: z.int().min(1).max(16).optional(),
  preset: z.enum(['general-high', 'general-budget', 'general-fast']).optional(),
  tools: z
    .array(z.looseObject({ type: z.string() }))
    .max(8)
    .optional(),
})

const web = z.looseObject({
  id: z.literal('web'),
  enabled,
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
})

/** Runs once per request, before or after the model. Unknown fields pass. */
export const plugin = z
  .discriminatedUnion('id', [
    z.looseObject({ id: z.literal('auto-router'), ...autoRouter, pin_model: z.boolean().optional() }),
    z.looseObject({ id: z.literal('auto-beta-router'), ...autoRouter }),
    z.looseObject({
      id: z.literal('context-compression'),
      enabled,
      engine: z.literal('middle-out').optional(),
    }),
    z.looseObject({
      id: z.literal('file-parser'),
      enabled,
      pdf: z.looseObject({ engine: z.string().optional() }).optional(),
    }),
    fusion,
    z.looseObject({ id: z.literal('moderation'), enabled }),
    z.looseObject({
      id: z.literal('pareto-router'),
      enabled,
      max_price: z.number().min(0).optional(),
      min_coding_score: z.number().min(0).max(1).optional(),
      price_source: z.enum(['prompt', 'weighted_avg']).optional(),
    }),
    z.looseObject({ id: z.literal('response-healing'), enabled }),
    z.looseObject({
      id: z.literal('switchyard-router'),
      enabled,
      algorithm: z.enum(['capability', 'stage', 'auto', 'random', 'composite', 'passthrough']).optional(),
    }),
    web,
    z.looseObject({
      id: z.literal('web-fetch'),
      enabled,
      allowed_domains: domains,
      blocked_domains: domains,
      max_content_tokens: count,
      max_uses: count,
    }),
  ])
  .meta({ id: 'Plugin' })
