import { asObjects, asString } from '../../../platform/json/json-values.ts'
import { type ModelListFormat, resolvePath } from '../model-list-format.ts'
import { findCount, optional } from './fields.ts'

/** `GET /api/v0/models` of LM Studio: all downloaded models, loaded or not. */
export const lmStudioList: ModelListFormat = {
  buildUrl: (baseUrl) => resolvePath(baseUrl, '/api/v0/models'),
  decode: (body) => ({
    models: asObjects(body.data).flatMap((entry) => {
      const id = asString(entry.id)
      if (!id) return []
      return [
        {
          id,
          ...optional('context_length', findCount(entry.loaded_context_length, entry.max_context_length)),
          ...(entry.type === 'vlm' && { input_modalities: ['text' as const, 'image' as const] }),
          ...(entry.type === 'embeddings' && { output_modalities: ['embeddings' as const] }),
        },
      ]
    }),
    next: null,
  }),
}
