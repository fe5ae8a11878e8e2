import { z } from 'zod'
import { listQuery, modelList, toModelList } from '../../../catalog/model-list.ts'
import { chat } from '../../../formats/chat/chat.ts'
import { decodeEmbeddings } from '../../../formats/embeddings/decode.ts'
import { encodeEmbeddings } from '../../../formats/embeddings/encode.ts'
import { embeddingsRequest, isPlainEmbeddings } from '../../../formats/embeddings/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders } from '../../../inference/declarations.ts'
import { embeddingsTask } from '../../../inference/media/embeddings.ts'
import { availabilityQuery, listReachableModels } from '../../../inference/plan/model-access.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const tag = 'Embeddings'

const createEmbeddings = defineOperation({
  id: 'createEmbeddings',
  method: 'POST',
  path: '/embeddings',
  tag,
  summary: 'Creates embeddings of texts, tokens or media.',
  description:
    'The vectors are in the order of the inputs. Models that accept more than text take `{ content: [...] }` objects.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError, isPlain: isPlainEmbeddings, deployments: true },
  body: embeddingsRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: z
    .looseObject({
      object: z.literal('list'),
      data: z.array(
        z.looseObject({
          object: z.literal('embedding'),
          index: z.int(),
          embedding: z.union([z.array(z.number()), z.string()]),
        }),
      ),
      model: z.string(),
      id: z.string(),
      usage: z.looseObject({ prompt_tokens: z.int(), total_tokens: z.int(), cost: z.number() }),
    })
    .meta({ id: 'Embeddings' }),
  handle: ({ gateway, caller, region, httpRequest, body }) => {
    const incoming = { caller, region, httpRequest, body: body as JsonObject, decode: decodeEmbeddings }
    return handleCacheable(gateway, incoming, embeddingsTask, encodeEmbeddings)
  },
})

const listEmbeddingModels = defineOperation({
  id: 'listEmbeddingModels',
  method: 'GET',
  path: '/embeddings/models',
  tag,
  summary: 'Lists the models that create embeddings.',
  permission: 'models:read',
  query: z.object({ ...listQuery, ...availabilityQuery }),
  response: modelList,
  handle: async (context) => {
    const listed = await listReachableModels(context, context.query)
    const models = listed.filter((model) => model.output_modalities.includes('embeddings'))
    return toModelList(
      models,
      context.query,
      context.httpRequest,
      context.gateway.benchmarks.current.findModelBenchmarks,
    )
  },
})

export const embeddingOperations = [createEmbeddings, listEmbeddingModels]
