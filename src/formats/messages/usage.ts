import { asCount, asNumber, asObject, asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import { countCompletionTokens, subtractParts, type Usage, type UsageCost, zeroUsage } from '../call/usage.ts'
import { decodeServedTier } from '../tier.ts'
import { hasAnyCount } from '../token-counts.ts'
import { encodeToolCost } from '../tool-usage.ts'
import type { ServedTier } from '../vocabulary.ts'
import type { ReplyContext } from '../wire-format.ts'

/** Later counts replace earlier ones: usage in a stream is cumulative and may be corrected. */
export function mergeUsage(earlier: JsonObject, later: unknown): JsonObject {
  for (const [name, value] of Object.entries(asObject(later) ?? {})) {
    if (value !== null && value !== undefined) earlier[name] = value
  }
  return earlier
}

const countFields = [
  'input_tokens',
  'output_tokens',
  'cache_creation_input_tokens',
  'cache_read_input_tokens',
]

/** Null when the upstream reported no counts. */
export function decodeUsage(raw: JsonObject): Usage | null {
  if (!hasAnyCount(raw, countFields)) return null
  const outputDetails = asObject(raw.output_tokens_details)
  const inputDetails = asObject(raw.input_tokens_details)
  const usage: Usage = {
    ...zeroUsage,
    ...decodeCacheWrites(raw),
    ...decodeCacheReads(raw, inputDetails),
    inputAudio: asCount(inputDetails?.audio_tokens),
    inputImage: asCount(inputDetails?.image_tokens),
    inputVideo: asCount(inputDetails?.video_tokens),
    reasoning: asCount(outputDetails?.thinking_tokens),
    outputAudio: asCount(outputDetails?.audio_tokens),
    outputImage: asCount(outputDetails?.image_tokens),
    acceptedPrediction: asCount(outputDetails?.accepted_prediction_tokens),
    rejectedPrediction: asCount(outputDetails?.rejected_prediction_tokens),
    webSearches: asCount(asObject(raw.server_tool_use)?.web_search_requests),
    reportedCost: decodeCost(raw.cost),
  }
  const { inputAudio, inputImage, inputVideo, reasoning, outputAudio, outputImage } = usage
  usage.input = subtractParts(asCount(raw.input_tokens), inputAudio, inputImage, inputVideo)
  usage.output = subtractParts(asCount(raw.output_tokens), reasoning, outputAudio, outputImage)
  addIterations(usage, raw.iterations)
  return usage
}

/** The vendor does not count audio; another gateway may, and then the total of cache reads includes it. */
function decodeCacheReads(raw: JsonObject, details: JsonObject | undefined) {
  const total = asCount(raw.cache_read_input_tokens)
  const cacheReadAudio = Math.min(asCount(details?.cached_audio_tokens), total)
  return { cacheRead: total - cacheReadAudio, cacheReadAudio }
}

/** The total may come without its split, or the split without its total. */
function decodeCacheWrites(raw: JsonObject): { cacheWrite: number; cacheWrite1h: number } {
  const split = asObject(raw.cache_creation)
  const hour = asCount(split?.ephemeral_1h_input_tokens)
  const total = asCount(raw.cache_creation_input_tokens)
  if (total === 0) return { cacheWrite: asCount(split?.ephemeral_5m_input_tokens), cacheWrite1h: hour }
  const cacheWrite1h = Math.min(hour, total)
  return { cacheWrite: total - cacheWrite1h, cacheWrite1h }
}

/** Iterations that are billed but not included in the totals. */
const extraIterationTypes: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

function addIterations(usage: Usage, iterations: unknown): void {
  for (const iteration of asObjects(iterations)) {
    if (!extraIterationTypes.has(iteration.type)) continue
    const writes = decodeCacheWrites(iteration)
    usage.input += asCount(iteration.input_tokens)
    usage.output += asCount(iteration.output_tokens)
    usage.cacheRead += asCount(iteration.cache_read_input_tokens)
    usage.cacheWrite += writes.cacheWrite
    usage.cacheWrite1h += writes.cacheWrite1h
  }
}

function decodeCost(value: unknown): number | null {
  const cost = asNumber(value)
  return cost !== undefined && cost >= 0 ? cost : null
}

/** Fast mode has its own field and its own prices; it counts as the priority tier. */
export function decodeTier(value: unknown): ServedTier | undefined {
  const usage = asObject(value)
  return usage?.speed === 'fast' ? 'priority' : decodeServedTier(usage?.service_tier)
}

/** This format calls the default tier `standard`. */
export function encodeServedTier(tier: ServedTier | null | undefined): string {
  return tier === 'priority' || tier === 'flex' ? tier : 'standard'
}

/** Usage at the start of a reply, with every field that clients expect. */
export const emptyUsage: JsonObject = {
  input_tokens: 0,
  cache_creation_input_tokens: 0,
  cache_read_input_tokens: 0,
  cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
  output_tokens: 0,
  output_tokens_details: null,
  server_tool_use: null,
  inference_geo: null,
  service_tier: 'standard',
}

export function encodeUsage(usage: Usage): JsonObject {
  const { cacheWrite, cacheWrite1h, inputAudio, inputImage, inputVideo } = usage
  const media = pickNonZero({
    audio_tokens: inputAudio,
    cached_audio_tokens: usage.cacheReadAudio,
    image_tokens: inputImage,
    video_tokens: inputVideo,
  })
  return {
    input_tokens: usage.input + inputAudio + inputImage + inputVideo,
    ...(media && { input_tokens_details: media }),
    cache_creation_input_tokens: cacheWrite + cacheWrite1h,
    cache_read_input_tokens: usage.cacheRead + usage.cacheReadAudio,
    cache_creation: { ephemeral_1h_input_tokens: cacheWrite1h, ephemeral_5m_input_tokens: cacheWrite },
    output_tokens: countCompletionTokens(usage),
    output_tokens_details: {
      thinking_tokens: usage.reasoning,
      ...pickNonZero({
        audio_tokens: usage.outputAudio,
        image_tokens: usage.outputImage,
        accepted_prediction_tokens: usage.acceptedPrediction,
        rejected_prediction_tokens: usage.rejectedPrediction,
      }),
    },
    server_tool_use:
      usage.webSearches > 0 ? { web_fetch_requests: 0, web_search_requests: usage.webSearches } : null,
  }
}

/** Counts that the format does not have are added only when they are not zero. */
function pickNonZero(counts: Record<string, number>): JsonObject | undefined {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return some.length > 0 ? Object.fromEntries(some) : undefined
}

/** `usage` besides the tokens; the counts of server tools are in the format only for searches and pages. */
export function encodeCost(usage: Usage, cost: UsageCost): JsonObject {
  const { requested = 0, executed, webSearches = 0, webFetches = 0 } = cost.serverTools ?? {}
  return {
    ...(webSearches + webFetches > 0 && {
      server_tool_use: {
        web_fetch_requests: webFetches,
        web_search_requests: usage.webSearches + webSearches,
      },
    }),
    ...(requested > 0 && {
      server_tool_use_details: {
        tool_calls_requested: requested,
        tool_calls_executed: executed,
        web_search_requests: webSearches,
      },
    }),
    cost: cost.total,
    is_byok: cost.isByok,
    cost_details: {
      upstream_inference_cost: cost.upstream,
      upstream_inference_prompt_cost: cost.upstreamPrompt,
      upstream_inference_completions_cost: cost.upstreamCompletion,
      ...encodeToolCost(cost),
    },
  }
}

/** The vendor's usage with the cost; missing and invalid counts are replaced with the gateway's. */
export function encodeUsageWithCost(
  raw: JsonObject,
  usage: Usage,
  cost: UsageCost,
  { tier }: Pick<ReplyContext, 'tier'>,
): JsonObject {
  const empty = { ...emptyUsage, service_tier: encodeServedTier(tier) }
  const merged: JsonObject = { ...empty, ...encodeUsage(usage), ...mergeUsage({}, raw) }
  const counted = encodeUsage(usage)
  for (const name of countFields) if (asCount(merged[name]) !== merged[name]) merged[name] = counted[name]
  return { ...merged, ...encodeCost(usage, cost) }
}
