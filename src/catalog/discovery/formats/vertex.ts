import { asObjects, asString, type JsonObject } from '../../../platform/json/json-values.ts'
import type { ListedModel } from '../listed-model.ts'
import { type ModelListFormat, resolvePath } from '../model-list-format.ts'

/** Publishers whose models are called without a deployment of one's own, with the names of such models. */
const publishers: readonly [string, RegExp][] = [
  ['publishers/google', /^gemini-/],
  ['publishers/anthropic', /^claude-/],
]

/** The list of publisher models, which only `v1beta1` has. A cursor is a publisher and the token of its page. */
export const vertexList: ModelListFormat = {
  buildUrl: (baseUrl, cursor) => {
    const [publisher, token] = parseCursor(cursor)
    const query = new URLSearchParams({ pageSize: '100', ...(token && { pageToken: token }) })
    return resolvePath(baseUrl, `/v1beta1/${publisher}/models?${query}`)
  },
  decode: (body, cursor) => {
    const [publisher] = parseCursor(cursor)
    const index = publishers.findIndex(([name]) => name === publisher)
    const token = asString(body.nextPageToken)
    const following = publishers[index + 1]?.[0]
    return {
      models: asObjects(body.publisherModels).flatMap((entry) =>
        toListedModel(entry, publishers[index]?.[1]),
      ),
      next: token ? `${publisher} ${token}` : following ? `${following} ` : null,
    }
  },
}

function parseCursor(cursor: string | null): [publisher: string, token: string] {
  const [publisher = '', token = ''] = (cursor ?? 'publishers/google ').split(' ')
  return [publisher, token]
}

/** Models of Anthropic have their version in the name. */
function toListedModel(entry: JsonObject, pattern: RegExp | undefined): ListedModel[] {
  const id = asString(entry.name)?.replace(/^publishers\/[^/]+\/models\//, '')
  if (!id || !pattern?.test(id)) return []
  const version = asString(entry.versionId)
  return [{ id: version && /^\d{8}$/.test(version) ? `${id}@${version}` : id }]
}
