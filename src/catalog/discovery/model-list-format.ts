import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ListedModel } from './listed-model.ts'

export interface ModelPage {
  models: ListedModel[]
  /** Where the next page begins; null: this is the last one. */
  next: string | null
}

/** How a provider lists its models. */
export interface ModelListFormat {
  buildUrl(baseUrl: string, cursor: string | null): string
  decode(body: JsonObject, cursor: string | null): ModelPage
  /** A request for the details of one model, if the list does not have them. */
  details?: {
    buildUrl(baseUrl: string): string
    buildBody(model: string): JsonObject
    decode(model: ListedModel, body: JsonObject): ListedModel
  }
}

/** The origin of a base URL with another path: servers list models beside the API that serves them. */
export function resolvePath(baseUrl: string, path: string): string {
  return new URL(path, baseUrl).href
}
