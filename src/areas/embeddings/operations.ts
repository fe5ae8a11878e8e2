import { z } from 'zod'
import { listQuery, modelList, toModelList } from '../../catalog/model-list.ts'
import { operation } from '../../operation.ts'

const listEmbeddingModels = operation({
  id: 'listEmbeddingModels',
  method: 'GET',
  path: '/embeddings/models',
  tag: 'Embeddings',
  summary: 'List the models that make embeddings',
  access: 'any',
  query: z.object(listQuery),
  response: modelList,
  handle: async ({ gateway, query, request }) => {
    const models = gateway.catalog.models.filter((model) => model.output_modalities.includes('embeddings'))
    return toModelList(models, query, request)
  },
})

export const embeddingOperations = [listEmbeddingModels]
