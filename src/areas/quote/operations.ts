import { z } from 'zod'
import { dataRegions } from '../../catalogue/vocabulary.ts'
import { chat } from '../../dialects/chat/chat.ts'
import { defineOperation } from '../../http/operation.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { layerNames } from '../../policy/effective.ts'
import { formatName, resolveIncoming } from './incoming.ts'
import { defaultCompletionTokens } from './price.ts'
import { buildQuote } from './quote.ts'

const usd = z.number().nullable()

const available = z.strictObject({
  model: z.string(),
  provider: z.string(),
  selected: z.boolean().describe('Always false here: nothing is sent'),
  tag: z.string(),
  rank: z.int().min(1).describe('The order in which they would be asked'),
  why: z.string().describe('A code for what decided its rank'),
  reason: z.string().describe('The same for people'),
  share: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('How often the draw by price would put it before the others of its model'),
  own_key: z.string().optional().describe('The id of the credential of your own that would be used'),
  price: z
    .strictObject({ prompt: usd, completion: usd, worst_case: usd, expected: usd })
    .describe('USD: for a million tokens, and for this request; null where nobody knows'),
  health: z
    .strictObject({
      latency: z.number().nullable().describe('Milliseconds to the first token, median of five minutes'),
      throughput: z.number().nullable().describe('Tokens a second, median of five minutes'),
      uptime: z.number().nullable().describe('Per cent of half an hour'),
      unstable: z.boolean(),
    })
    .nullable(),
})

const excluded = z.strictObject({
  model: z.string(),
  provider: z.string(),
  tag: z.string(),
  reason: z.string().describe('A code for what leaves it out'),
  detail: z.string().describe('The same for people'),
  own_key: z.string().optional(),
})

const limit = z.strictObject({
  kind: z.enum(['credits', 'key', 'workspace', 'guardrail', 'free_requests']),
  subject: z.string().describe('Whose spending is counted: organization, workspace, key or member'),
  interval: z.enum(['lifetime', 'monthly', 'weekly', 'daily', 'minute']),
  unit: z.enum(['usd', 'requests']),
  limit: z
    .number()
    .nullable()
    .describe('null, with `spent` and `held`, for the credits of the account: management keys read those'),
  spent: z.number().nullable(),
  held: z.number().nullable().describe('Set aside for requests under way'),
  remaining: z.number(),
  needed: z.number().describe('What would be set aside for this request'),
  would_fit: z.boolean(),
})

const guardrail = z.strictObject({
  field: z.string(),
  layers: z.array(z.enum(layerNames)),
  effect: z.string(),
  excludes: z.int().describe('How many endpoints it leaves out for this request'),
})

const quote = z
  .strictObject({
    requested: z.string(),
    strategy: z.enum(['direct', 'alias', 'latest', 'fallback']),
    region: z.enum(dataRegions),
    summary: z.string(),
    attempt: z.int().describe('Always 0 here'),
    is_byok: z.boolean(),
    endpoints: z.strictObject({
      total: z.int(),
      available: z.array(available),
      excluded: z.array(excluded),
    }),
    params: z.looseObject({}).optional().describe('What the request says about its way'),
    price: z.strictObject({
      worst_case: usd.describe('What would be set aside: the dearest endpoint that may be reached'),
      worst_case_at_provider: usd.describe('The most the provider would take from your own account there'),
      expected: usd.describe('On average over the endpoints that may be asked first'),
      assumed: z.strictObject({
        prompt_tokens: z.int(),
        completion_tokens: z
          .int()
          .describe(
            `What the expected price is reckoned with: max_tokens, at most ${defaultCompletionTokens}`,
          ),
      }),
    }),
    limits: z.array(limit),
    guardrails: z.array(guardrail),
    would: z.enum(['be_sent', 'be_refused']),
    refusal: z.looseObject({}).nullable().describe('The error the request would get'),
  })
  .meta({ id: 'Quote' })

const quoteRequest = defineOperation({
  id: 'quoteRequest',
  method: 'POST',
  path: '/quote',
  tag: 'Quote',
  summary: 'Ask where a request would go and what it would cost, without sending it',
  description:
    'Takes the body of any request to a model. Without `format` it is told from the body: `input` is Responses, `contents` is Gemini (with `model` beside it), `prompt` is the older text format, `messages` is chat, or Messages when the header `anthropic-version` is there. Nothing is sent, set aside or recorded.',
  access: 'inference',
  inference: { encodeError: chat.client.encodeError },
  query: z.strictObject({ format: formatName.optional() }),
  body: z.looseObject({}).meta({ description: 'A body of any of the formats' }),
  errors: [404, 429],
  response: z.strictObject({ data: quote }),
  handle: async ({ gateway, caller, region, httpRequest, query, body, source }) => {
    const input = { caller, region, httpRequest, source, body: body as JsonObject }
    return { data: await buildQuote(gateway, await resolveIncoming(gateway, input, query.format)) }
  },
})

export const quoteOperations = [quoteRequest]
