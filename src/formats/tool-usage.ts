import type { JsonObject } from '../platform/json/json-values.ts'
import type { Usage, UsageCost } from './call/usage.ts'

/** Calls of server tools and searches; undefined if there were none. */
export function encodeToolUse({ webSearches }: Usage, { serverTools }: UsageCost): JsonObject | undefined {
  const searches = webSearches + (serverTools?.webSearches ?? 0)
  if (!serverTools?.requested) return searches > 0 ? { web_search_requests: searches } : undefined
  return {
    tool_calls_requested: serverTools.requested,
    tool_calls_executed: serverTools.executed,
    web_search_requests: searches,
  }
}

/**
 * Encodes the cost of server tools and plugins for `cost_details`: the total also has that of the model's own turns.
 */
export function encodeToolCost({ serverTools }: UsageCost): JsonObject {
  return serverTools ? { server_tool_cost: serverTools.cost } : {}
}
