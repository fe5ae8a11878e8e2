import { z } from 'zod'
import { listQuery, modelList, toModelList } from '../../catalog/model-list.ts'
import { operation } from '../../operation.ts'
import { availabilityQuery, listedModels } from '../../pipeline/model-access.ts'

const listEmbeddingModels = operation({
  id: 'listEmbeddingModels',
  method: 'GET',
  path: '/embeddings/models',
  tag: 'Embeddings',
  summary: 'List the models that make embeddings',
  access: 'any',
  query: z.object({ ...listQuery, ...availabilityQuery }),
  response: modelList,
  handle: async (ask) => {
    const listed = await listedModels(ask, ask.query)
    const models = listed.filter((model) => model.output_modalities.includes('embeddings'))
    return toModelList(models, ask.query, ask.request)
  },
})

export const embeddingOperations = [listEmbeddingModels]
