import { asObjects, asString } from '../../../platform/json/json-values.ts'
import type { ModelListFormat } from '../model-list-format.ts'
import { findCount, optional } from './fields.ts'

/** `GET /models` of the Gemini API, by pages: the models that generate content. */
export const geminiList: ModelListFormat = {
  buildUrl: (baseUrl, cursor) =>
    `${baseUrl.replace(/\/+$/, '')}/models?pageSize=1000${cursor === null ? '' : `&pageToken=${encodeURIComponent(cursor)}`}`,
  decode: (body) => ({
    models: asObjects(body.models).flatMap((entry) => {
      const id = asString(entry.name)?.replace(/^models\//, '')
      const methods = entry.supportedGenerationMethods
      if (!id || !Array.isArray(methods) || !methods.includes('generateContent')) return []
      return [
        {
          id,
          ...optional('name', asString(entry.displayName)),
          ...optional('context_length', findCount(entry.inputTokenLimit)),
          ...optional('max_completion_tokens', findCount(entry.outputTokenLimit)),
        },
      ]
    }),
    next: asString(body.nextPageToken) || null,
  }),
}
