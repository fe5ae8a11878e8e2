import { z } from 'zod'
import { chat } from '../../../formats/chat/chat.ts'
import { decodeRerank } from '../../../formats/rerank/decode.ts'
import { encodeRerank } from '../../../formats/rerank/encode.ts'
import { rerankRequest } from '../../../formats/rerank/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders } from '../../../inference/declarations.ts'
import { rerankTask } from '../../../inference/media/rerank.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const rerankDocuments = defineOperation({
  id: 'rerankDocuments',
  method: 'POST',
  path: '/rerank',
  tag: 'Rerank',
  summary: 'Ranks documents by their relevance to a query.',
  description: 'The results are sorted by relevance, the highest first, and repeat the documents.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError },
  body: rerankRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: z
    .looseObject({
      id: z.string(),
      model: z.string(),
      provider: z.string(),
      results: z.array(
        z.looseObject({
          index: z.int(),
          relevance_score: z.number(),
          document: z.looseObject({ text: z.string().optional(), image: z.string().optional() }),
        }),
      ),
      usage: z.looseObject({ cost: z.number(), search_units: z.int(), total_tokens: z.int() }),
    })
    .meta({ id: 'Rerank' }),
  handle: ({ gateway, caller, region, httpRequest, body }) => {
    const incoming = { caller, region, httpRequest, body: body as JsonObject, decode: decodeRerank }
    return handleCacheable(gateway, incoming, rerankTask, encodeRerank)
  },
})

export const rerankOperations = [rerankDocuments]
