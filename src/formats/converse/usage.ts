import { asCount, asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { hasAnyCount } from '../token-counts.ts'

const countFields = ['inputTokens', 'outputTokens', 'cacheReadInputTokens', 'cacheWriteInputTokens']

/** `inputTokens` has neither what was read from a cache nor what was written. Null when there are no counts. */
export function decodeUsage(raw: JsonObject): Usage | null {
  if (!hasAnyCount(raw, countFields)) return null
  const written = asCount(raw.cacheWriteInputTokens)
  const hour = asObjects(raw.cacheDetails)
    .filter(({ ttl }) => ttl === '1h')
    .reduce((sum, { inputTokens }) => sum + asCount(inputTokens), 0)
  const cacheWrite1h = Math.min(hour, written)
  return {
    ...zeroUsage,
    input: asCount(raw.inputTokens),
    cacheRead: asCount(raw.cacheReadInputTokens),
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    output: asCount(raw.outputTokens),
  }
}
