import { z } from 'zod'
import { quantizations } from '../../catalogue/vocabulary.ts'

const sortBy = z.enum(['price', 'throughput', 'latency', 'exacto'])
/** Each is looked for at every endpoint; there are fewer providers than this. */
const maxNames = 1000
const slugs = z.array(z.string().min(1).max(256)).max(maxNames).nullish()
const percentileCutoff = z.number().min(0).nullish()

const preferredCutoff = z
  .union(
    [
      z.number().min(0),
      z.strictObject({
        p50: percentileCutoff,
        p75: percentileCutoff,
        p90: percentileCutoff,
        p99: percentileCutoff,
      }),
    ],
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
    order: slugs.describe('Asked first, in this order: slugs or names of providers, or tags of endpoints'),
    only: slugs.describe('All others are left out'),
    ignore: slugs.describe('Left out'),
    allow_fallbacks: z
      .boolean()
      .nullish()
      .describe('false: nobody but the first choice is asked, or but those in `order`'),
    require_parameters: z
      .boolean()
      .nullish()
      .describe('Without endpoints that do not know every parameter of the request'),
    data_collection: z
      .enum(['allow', 'deny'])
      .nullish()
      .describe('deny: without providers that train on prompts, or keep them'),
    zdr: z.boolean().nullish().describe('Without providers that keep prompts'),
    enforce_distillable_text: z
      .boolean()
      .nullish()
      .describe('Without models whose answers may not be used to train others'),
    quantizations: z
      .array(z.enum(quantizations))
      .max(maxNames)
      .nullish()
      .describe('Without endpoints of any other'),
    sort: sort.describe('What decides the order, instead of a draw by price'),
    preferred_max_latency: preferredCutoff.describe(
      'Seconds to the first token: slower endpoints go to the end',
    ),
    preferred_min_throughput: preferredCutoff.describe('Tokens a second: slower endpoints go to the end'),
    max_price: z
      .strictObject({ prompt: price, completion: price, request: price, image: price, audio: price })
      .optional()
      .describe('USD: for a million tokens of `prompt` and `completion`, and for one of the others'),
  })
  .meta({ id: 'ProviderPreferences' })

export type ProviderPreferences = z.output<typeof providerPreferences>
