import type { JsonObject } from '../../platform/json/json-values.ts'
import type { CacheBreakpoint } from '../call/part.ts'

export function encodeCachePoint({ ttl }: CacheBreakpoint): JsonObject {
  return { type: 'default', ...(ttl !== undefined && { ttl }) }
}
