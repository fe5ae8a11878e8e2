import { z } from 'zod'
import { priorities, quantizations } from '../vocabulary.ts'
import { attemptPolicyFields } from './attempt-policy.ts'

const sortBy = z.enum(['price', 'throughput', 'latency', 'exacto'])
/** Each name is matched against every endpoint; there are fewer providers than this. */
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

/** Clients send prices as numbers and as decimal strings. */
const price = z
  .union(
    [z.number().min(0), z.string().regex(/^\d{1,20}(\.\d{1,20})?$/)],
    'must be a non-negative number or decimal string',
  )
  .optional()

const sort = z
  .union(
    [sortBy, z.strictObject({ by: sortBy.nullish(), partition: z.enum(['model', 'none']).nullish() })],
    'must be price, throughput, latency, exacto or { by, partition }, with partition model or none',
  )
  .nullish()

/** Constraints on the endpoints of a request. Strict: a misspelled `zdr` must not silently allow every provider. */
export const providerPreferences = z
  .strictObject({
    order: slugs.describe('Provider slugs, provider names or endpoint tags to try first, in this order'),
    only: slugs.describe('Allow only these providers or endpoints'),
    ignore: slugs.describe('Exclude these providers or endpoints'),
    allow_fallbacks: z
      .boolean()
      .nullish()
      .describe(
        'Whether to fail over to other endpoints. With `false`, only the first candidate or those in `order` are tried',
      ),
    require_parameters: z
      .boolean()
      .nullish()
      .describe('Use only endpoints that support every parameter of the request'),
    data_collection: z
      .enum(['allow', 'deny'])
      .nullish()
      .describe('`deny` excludes providers that train on prompts or retain them'),
    zdr: z.boolean().nullish().describe('Use only providers with zero data retention'),
    enforce_distillable_text: z
      .boolean()
      .nullish()
      .describe('Use only models whose output may be used to train other models'),
    quantizations: z
      .array(z.enum(quantizations))
      .max(maxNames)
      .nullish()
      .describe('Use only endpoints with one of these quantizations'),
    sort: sort.describe('Sort the endpoints by this attribute instead of balancing load by price'),
    preferred_max_latency: preferredCutoff.describe(
      'Maximum seconds to the first token; slower endpoints are tried last',
    ),
    preferred_min_throughput: preferredCutoff.describe(
      'Minimum tokens per second; slower endpoints are tried last',
    ),
    max_price: z
      .strictObject({ prompt: price, completion: price, request: price, image: price, audio: price })
      .optional()
      .describe(
        'Maximum price in USD: per million tokens for `prompt` and `completion`, per unit for the others',
      ),
    prompt_caching: z
      .boolean()
      .nullish()
      .describe(
        '`false`: no breakpoints for the prompt cache of the provider are added to this request. Those in the request itself count in any case',
      ),
    timeout: attemptPolicyFields.timeout
      .nullish()
      .describe('Time limits in seconds; `total`, or a number, is for all attempts together'),
    retry: attemptPolicyFields.retry.nullish().describe('Retries at the same endpoint'),
    hedge: attemptPolicyFields.hedge
      .nullish()
      .describe('Sends the request to the next endpoint too if there is no content; both are charged'),
    priority: z
      .enum(priorities)
      .nullish()
      .describe(
        'Which requests pass first where the rate of a provider is nearly used; by default that of the key. Nothing is sent to the provider: `service_tier` is its own',
      ),
  })
  .meta({ id: 'ProviderPreferences' })

export type ProviderPreferences = z.output<typeof providerPreferences>
