import { asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { CacheBreakpoint } from '../call/part.ts'
import type { Losses } from '../fields.ts'

/** The vendor rejects a request with more. */
export const maxCacheBreakpoints = 4

export function encodeCacheControl(breakpoint: CacheBreakpoint): JsonObject {
  return { cache_control: { type: 'ephemeral', ...(breakpoint.ttl && { ttl: breakpoint.ttl }) } }
}

/** Removes the earliest breakpoints beyond the vendor's limit: later ones cover a longer prefix. */
export function limitCacheBreakpoints(body: JsonObject, losses: Losses): void {
  const breakpoints = [...asObjects(body.tools), ...asObjects(body.system)].filter(hasCacheControl)
  for (const message of asObjects(body.messages)) {
    for (const block of asObjects(message.content)) {
      if (block.type === 'tool_result') breakpoints.push(...asObjects(block.content).filter(hasCacheControl))
      if (hasCacheControl(block)) breakpoints.push(block)
    }
  }
  const limit = body.cache_control ? maxCacheBreakpoints - 1 : maxCacheBreakpoints
  for (const block of breakpoints.slice(0, Math.max(0, breakpoints.length - limit))) {
    delete block.cache_control
    losses.add('cache_control')
  }
}

function hasCacheControl(block: JsonObject): boolean {
  return block.cache_control !== undefined && block.cache_control !== null
}
