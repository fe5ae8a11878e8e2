import { z } from 'zod'
import { quantizations } from '../../catalog/vocabulary.ts'

const sortBy = z.enum(['price', 'throughput', 'latency', 'exacto'])
const slugs = z.array(z.string().min(1)).nullish()
const cutoff = z.number().min(0).nullish()

const preferred = z
  .union(
    [z.number().min(0), z.strictObject({ p50: cutoff, p75: cutoff, p90: cutoff, p99: cutoff })],
    'must be a number, or an object of percentiles (p50, p75, p90, p99)',
  )
  .nullish()

/** Prices come as numbers and as decimal strings: clients send both. */
const price = z
  .union(
    [z.number().min(0), z.string().regex(/^\d{1,20}(\.\d{1,20})?$/)],
    'must be a price: a number or a decimal string, not negative',
  )
  .optional()

const sort = z
  .union(
    [sortBy, z.strictObject({ by: sortBy.nullish(), partition: z.enum(['model', 'none']).nullish() })],
    'must be price, throughput, latency or exacto, or { by, partition: model or none }',
  )
  .nullish()

/** Which endpoints may serve a request. Closed: a misspelt `zdr` must not silently allow every provider. */
export const providerPreferences = z
  .strictObject({
    order: slugs,
    only: slugs,
    ignore: slugs,
    allow_fallbacks: z.boolean().nullish(),
    require_parameters: z.boolean().nullish(),
    data_collection: z.enum(['allow', 'deny']).nullish(),
    zdr: z.boolean().nullish(),
    enforce_distillable_text: z.boolean().nullish(),
    quantizations: z.array(z.enum(quantizations)).nullish(),
    sort,
    preferred_max_latency: preferred,
    preferred_min_throughput: preferred,
    max_price: z
      .strictObject({ prompt: price, completion: price, request: price, image: price, audio: price })
      .optional(),
  })
  .meta({ id: 'ProviderPreferences' })

export type Preferences = z.output<typeof providerPreferences>
