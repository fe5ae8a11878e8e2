import { z } from 'zod'
import { cohereChat } from '../../../formats/cohere/cohere.ts'
import { encodeEmbed, encodeRerank, translateEmbed } from '../../../formats/cohere/media.ts'
import { cohereChatRequest, cohereEmbedRequest } from '../../../formats/cohere/schema.ts'
import { decodeEmbeddings } from '../../../formats/embeddings/decode.ts'
import { decodeRerank } from '../../../formats/rerank/decode.ts'
import { rerankRequest } from '../../../formats/rerank/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { embeddingsTask } from '../../../inference/media/embeddings.ts'
import { withFieldNames } from '../../../inference/media/fit.ts'
import { rerankTask } from '../../../inference/media/rerank.ts'
import { formats } from '../../../inference/request/formats.ts'
import { handleInference } from '../../../inference/serve.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const { encodeError, errorSchema } = cohereChat

const common = {
  method: 'POST',
  root: true,
  tag: 'Cohere',
  permission: 'inference:write',
  headers: inferenceHeaders,
  errors: inferenceErrors,
} as const

const chatOperation = defineOperation({
  ...common,
  id: 'cohereChat',
  path: '/v2/chat',
  summary: 'Creates a chat completion in the Cohere chat format.',
  description: 'With `stream: true` the response is a stream of server-sent events.',
  inference: { encodeError, errorSchema },
  body: cohereChatRequest,
  otherContentTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      finish_reason: z.string(),
      message: z.looseObject({ role: z.literal('assistant') }),
    })
    .meta({ id: 'CohereChatReply' }),
  handle: ({ gateway, caller, region, httpRequest, body, source }) => {
    const format = formats.cohereChat
    return handleInference(gateway, {
      caller,
      region,
      httpRequest,
      body: body as JsonObject,
      source,
      format,
    })
  },
})

const embedTask = withFieldNames(embeddingsTask, { input: 'inputs' })

const embedOperation = defineOperation({
  ...common,
  id: 'cohereEmbed',
  path: '/v2/embed',
  summary: 'Creates embeddings in the Cohere embed format.',
  inference: { encodeError, errorSchema },
  body: cohereEmbedRequest,
  response: z
    .looseObject({
      id: z.string(),
      embeddings: z.looseObject({
        float: z.array(z.array(z.number())).optional(),
        base64: z.array(z.string()).optional(),
      }),
    })
    .meta({ id: 'CohereEmbedReply' }),
  handle: async ({ gateway, caller, region, httpRequest, body }) => {
    const received = body as JsonObject
    const incoming = { caller, region, httpRequest, ...translateEmbed(received), decode: decodeEmbeddings }
    return handleCacheable(gateway, incoming, embedTask, (reply, context) =>
      encodeEmbed(reply, context, received),
    )
  },
})

const rerankOperation = defineOperation({
  ...common,
  id: 'cohereRerank',
  path: '/v2/rerank',
  summary: 'Ranks documents in the Cohere rerank format.',
  description: 'As `POST /rerank`, with a response that has no documents.',
  inference: { encodeError, errorSchema },
  body: rerankRequest,
  response: z
    .looseObject({
      id: z.string(),
      results: z.array(z.looseObject({ index: z.int(), relevance_score: z.number() })),
    })
    .meta({ id: 'CohereRerankReply' }),
  handle: ({ gateway, caller, region, httpRequest, body }) => {
    const incoming = { caller, region, httpRequest, body: body as JsonObject, decode: decodeRerank }
    return handleCacheable(gateway, incoming, rerankTask, encodeRerank)
  },
})

export const cohereOperations = [chatOperation, embedOperation, rerankOperation]
