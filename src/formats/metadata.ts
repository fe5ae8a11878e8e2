import { asObject, type JsonObject } from '../platform/json/json-values.ts'

/**
 * The metadata of a request as upstreams are sent it: without `tags`, a list that only gateways know. Undefined if
 * nothing else is left.
 */
export function withoutTagList(value: unknown): JsonObject | undefined {
  const metadata = asObject(value)
  if (!Array.isArray(metadata?.tags)) return metadata
  const { tags: _list, ...pairs } = metadata
  return Object.keys(pairs).length > 0 ? pairs : undefined
}
