import { asObjects, asString } from '../../../platform/json/json-values.ts'
import type { ModelListFormat } from '../model-list-format.ts'
import { optional } from './fields.ts'

/** `GET /models` of the Messages API, by pages. */
export const anthropicList: ModelListFormat = {
  buildUrl: (baseUrl, cursor) =>
    `${baseUrl.replace(/\/+$/, '')}/models?limit=1000${cursor === null ? '' : `&after_id=${encodeURIComponent(cursor)}`}`,
  decode: (body) => ({
    models: asObjects(body.data).flatMap((entry) => {
      const id = asString(entry.id)
      return id ? [{ id, ...optional('name', asString(entry.display_name)) }] : []
    }),
    next: body.has_more === true ? (asString(body.last_id) ?? null) : null,
  }),
}
