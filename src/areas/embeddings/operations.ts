import { z } from 'zod'
import { listQuery, modelList, toModelList } from '../../catalogue/model-list.ts'
import { defineOperation } from '../../http/operation.ts'
import { availabilityQuery, listReachableModels } from '../../pipeline/routing/model-access.ts'

const listEmbeddingModels = defineOperation({
  id: 'listEmbeddingModels',
  method: 'GET',
  path: '/embeddings/models',
  tag: 'Embeddings',
  summary: 'Lists the models that create embeddings.',
  access: 'any',
  query: z.object({ ...listQuery, ...availabilityQuery }),
  response: modelList,
  handle: async (context) => {
    const listed = await listReachableModels(context, context.query)
    const models = listed.filter((model) => model.output_modalities.includes('embeddings'))
    return toModelList(models, context.query, context.httpRequest)
  },
})

export const embeddingOperations = [listEmbeddingModels]
