import { asObject, asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import type { ListedModel } from '../listed-model.ts'
import { type ModelListFormat, resolvePath } from '../model-list-format.ts'
import { findCount, optional } from './fields.ts'

/** `GET /api/tags` of Ollama, and `POST /api/show` for what each model can do. */
export const ollamaList: ModelListFormat = {
  buildUrl: (baseUrl) => resolvePath(baseUrl, '/api/tags'),
  decode: (body) => ({
    models: asObjects(body.models).flatMap((entry) => {
      const id = asString(entry.model) ?? asString(entry.name)
      return id ? [{ id }] : []
    }),
    next: null,
  }),
  details: {
    buildUrl: (baseUrl) => resolvePath(baseUrl, '/api/show'),
    buildBody: (model) => ({ model }),
    decode: addDetails,
  },
}

function addDetails(model: ListedModel, body: JsonObject): ListedModel {
  const info = asObject(body.model_info) ?? {}
  const context = info[`${asString(info['general.architecture'])}.context_length`]
  const capabilities = Array.isArray(body.capabilities) ? body.capabilities : []
  return {
    ...model,
    ...optional('context_length', findCount(context)),
    ...(capabilities.includes('vision') && { input_modalities: ['text', 'image'] }),
    ...(capabilities.includes('embedding') && { output_modalities: ['embeddings'] }),
  }
}
