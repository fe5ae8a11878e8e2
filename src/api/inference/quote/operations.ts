import { z } from 'zod'
import { routerStrategies } from '../../../catalog/router-models.ts'
import { splitChoices } from '../../../catalog/split-schema.ts'
import { chat } from '../../../formats/chat/chat.ts'
import { dataRegions } from '../../../formats/vocabulary.ts'
import { hitRecord } from '../../../governance/guardrail-hits.ts'
import { layerNames } from '../../../governance/policy/effective.ts'
import { defineOperation } from '../../../http/operation.ts'
import { formatName, resolveRequest } from '../../../inference/any-format/resolve.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { defaultCompletionTokens } from './price.ts'
import { buildQuote } from './quote.ts'

const usd = z.number().nullable()

const available = z.strictObject({
  model: z.string(),
  provider: z.string(),
  selected: z.boolean().describe('Always false: nothing is sent.'),
  tag: z.string(),
  rank: z.int().min(1).describe('The position in the order the endpoints would be tried in.'),
  why: z.string().describe('The code of the rule that decided its rank.'),
  reason: z.string().describe('A human-readable explanation of `why`.'),
  share: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('How often the price-weighted draw would rank it first among the endpoints of its model.'),
  own_key: z.string().optional().describe('The id of the BYOK key that would be used.'),
  price: z
    .strictObject({ prompt: usd, completion: usd, worst_case: usd, expected: usd })
    .describe('In USD, per million tokens and for this request; null if unknown.'),
  health: z
    .strictObject({
      latency: z.number().nullable().describe('Median milliseconds to the first token over five minutes.'),
      throughput: z.number().nullable().describe('Median tokens per second over five minutes.'),
      uptime: z.number().nullable().describe('The percentage over 30 minutes.'),
      unstable: z.boolean(),
    })
    .nullable(),
})

const excluded = z.strictObject({
  model: z.string(),
  provider: z.string(),
  tag: z.string(),
  reason: z.string().describe('The code of the rule that excludes it.'),
  detail: z.string().describe('A human-readable explanation of `reason`.'),
  own_key: z.string().optional(),
})

const limit = z.strictObject({
  kind: z.enum(['credits', 'key', 'member', 'workspace', 'guardrail', 'limit', 'free_requests']),
  name: z.string().nullable().describe('The name of a declared limit.'),
  subject: z.string().describe('Whose spending counts: organization, workspace, key or member; or `limit`.'),
  interval: z.enum(['lifetime', 'monthly', 'weekly', 'daily', 'hour', 'minute', 'second']),
  unit: z.enum(['usd', 'requests', 'tokens', 'input_tokens', 'output_tokens']),
  limit: z
    .number()
    .nullable()
    .describe(
      'null, as are `spent` and `held`, for the credits of the account, which only management keys can read.',
    ),
  spent: z.number().nullable(),
  held: z.number().nullable().describe('The amount held for requests in progress.'),
  remaining: z.number(),
  needed: z.number().describe('The amount that would be held for this request.'),
  would_fit: z.boolean(),
})

const guardrail = z.strictObject({
  field: z.string(),
  layers: z.array(z.enum(layerNames)),
  effect: z.string(),
  dry_run: z.boolean().describe('Whether the rule is only recorded.'),
  excludes: z.int().describe('The number of endpoints it excludes for this request.'),
})

const stage = z.strictObject({
  type: z.enum(['guardrail', 'plugin', 'server_tools', 'response_healing', 'context_compression', 'hedge']),
  name: z.string(),
  summary: z.string().optional(),
  data: z.looseObject({}).optional(),
  cost_usd: usd.optional(),
  guardrail_id: z.string().optional(),
  guardrail_scope: z.string().optional(),
})

const expiration = z.strictObject({
  name: z.string(),
  type: z.enum(['alias', 'model']),
  expires_at: z.string(),
  replacement: z.string().nullable(),
  is_expired: z.boolean(),
})

const quote = z
  .strictObject({
    requested: z.string(),
    strategy: z.enum(['direct', 'alias', 'latest', 'fallback', 'rule', ...routerStrategies]),
    region: z.enum(dataRegions),
    summary: z.string(),
    attempt: z.int().describe('Always 0.'),
    is_byok: z.boolean(),
    rule: z
      .strictObject({ id: z.string(), name: z.string() })
      .optional()
      .describe('The routing rule that applies.'),
    endpoints: z.strictObject({
      total: z.int(),
      available: z.array(available),
      excluded: z.array(excluded),
    }),
    params: z.looseObject({}).optional().describe('The routing options of the request.'),
    expirations: z
      .array(expiration)
      .readonly()
      .optional()
      .describe('Models and aliases of the request that expire, or have moved to their replacement.'),
    splits: splitChoices
      .optional()
      .describe(
        'The targets that would be chosen for an alias with weights. Without an id of a session or end user, they differ from request to request.',
      ),
    pipeline: z
      .array(stage)
      .optional()
      .describe('The steps before routing that acted: what router models chose, plugins and guardrails.'),
    price: z.strictObject({
      worst_case: usd.describe(
        'The amount that would be held: the price at the most expensive endpoint that may be reached.',
      ),
      worst_case_at_provider: usd.describe('The most the provider would charge your own account with it.'),
      expected: usd.describe('The average over the endpoints that may be tried first.'),
      assumed: z.strictObject({
        prompt_tokens: z.int(),
        completion_tokens: z
          .int()
          .describe(
            `The completion tokens assumed for the expected price: max_tokens, at most ${defaultCompletionTokens}.`,
          ),
      }),
    }),
    limits: z.array(limit),
    guardrails: z.array(guardrail),
    hits: z
      .array(hitRecord)
      .describe('What the guardrails find in the request. Redacted texts would not be sent.'),
    would: z.enum(['be_sent', 'be_refused']),
    refusal: z.looseObject({}).nullable().describe('The error the request would get.'),
  })
  .meta({ id: 'Quote' })

const quoteRequest = defineOperation({
  id: 'quoteRequest',
  method: 'POST',
  path: '/quote',
  tag: 'Quote',
  summary: 'Quotes where a request would be routed and what it would cost, without sending it.',
  description:
    'Accepts the body of any request to a model. Without `format` the format is detected from the body: `input` is Responses, or speech with a `voice`, `input_audio` is a transcription, `contents` is Gemini (with an additional `model`), `prompt` is the legacy text format, `query` with `documents` is a rerank request, `messages` is chat, or Messages if the header `anthropic-version` is sent. A request for embeddings, images, or speech without a voice needs `format`. Nothing is sent, held or recorded.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError, isDryRun: true },
  query: z.strictObject({ format: formatName.optional() }),
  body: z.looseObject({}).meta({ description: 'A body in any of the formats.' }),
  errors: [404, 429],
  response: z.strictObject({ data: quote }),
  handle: async ({ gateway, caller, region, httpRequest, query, body, source }) => {
    const input = { caller, region, httpRequest, source, body: body as JsonObject }
    return { data: await buildQuote(gateway, await resolveRequest(gateway, input, query.format)) }
  },
})

export const quoteOperations = [quoteRequest]
