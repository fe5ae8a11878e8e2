import { z } from 'zod'
import { excludeBoth } from '../../platform/validation/schema-rules.ts'
import { searchModes } from './search-engine.ts'

/** Domains of web pages. */
export const domains = z.array(z.string().max(2000)).max(1000).optional()
const count = z.int().min(1).optional()
const countUpTo = (max: number) => z.int().min(1).max(max).optional()

/** The modes of all engines: the search checks that an engine that is named has it. */
export const searchMode = z.enum(searchModes)

const optionalText = z.string().nullish()
export const userLocation = z.looseObject({
  type: z.literal('approximate').optional(),
  city: optionalText,
  country: optionalText,
  region: optionalText,
  timezone: optionalText,
})

export const xSearch = z.looseObject({
  allowed_x_handles: z.array(z.string()).max(20).optional(),
  excluded_x_handles: z.array(z.string()).max(20).optional(),
  enable_image_understanding: z.boolean().optional(),
  enable_video_understanding: z.boolean().optional(),
  from_date: z.string().optional(),
  to_date: z.string().optional(),
})

export const webSearch = z
  .strictObject({
    allowed_domains: domains,
    excluded_domains: domains,
    // Not an enum: the search validates the engine.
    engine: z.string().optional(),
    max_characters: countUpTo(100_000),
    max_results: countUpTo(25),
    max_total_results: count,
    max_uses: count,
    mode: searchMode.optional(),
    search_context_size: z.enum(['low', 'medium', 'high']).optional(),
    user_location: userLocation.nullish(),
    x_search: xSearch.optional(),
  })
  .refine(({ allowed_domains, excluded_domains }) => !(allowed_domains && excluded_domains), {
    path: ['excluded_domains'],
    message: 'cannot be combined with allowed_domains',
  })
  .meta({ override: excludeBoth('allowed_domains', 'excluded_domains') })

export const webFetch = z.strictObject({
  allowed_domains: domains,
  blocked_domains: domains,
  engine: z.string().optional(),
  max_content_tokens: count,
  max_uses: count,
})

/** The server tool loop stops when any of these conditions is met. */
export const stopServerToolsWhen = z
  .array(
    z.discriminatedUnion('type', [
      z.looseObject({ type: z.literal('step_count_is'), step_count: z.int() }),
      z.looseObject({ type: z.literal('has_tool_call'), tool_name: z.string().min(1) }),
      z.looseObject({ type: z.literal('max_tokens_used'), max_tokens: z.int() }),
      z.looseObject({ type: z.literal('max_cost'), max_cost_in_dollars: z.number() }),
      z.looseObject({ type: z.literal('finish_reason_is'), reason: z.string().min(1) }),
    ]),
  )
  .min(1)
  .meta({ id: 'StopServerToolsWhen' })
