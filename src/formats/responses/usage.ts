import {
  asCount,
  asNumber,
  asObject,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import {
  countCompletionTokens,
  countPromptTokens,
  excludeCacheReads,
  subtractParts,
  TokenPool,
  type Usage,
  type UsageCost,
} from '../call/usage.ts'
import { hasAnyCount } from '../token-counts.ts'
import { encodeToolCost, encodeToolUse } from '../tool-usage.ts'

/** The unit of one vendor's `cost_in_usd_ticks`. */
const ticksPerDollar = 1e10

/** Null without counts. `searches` is the number of searches in the output, for vendors that do not count them. */
export function decodeUsage(value: unknown, searches: number): Usage | null {
  const usage = asObject(value)
  if (!usage || !hasAnyCount(usage, ['input_tokens', 'output_tokens'])) return null
  const inputDetails = asObject(usage.input_tokens_details) ?? {}
  const outputDetails = asObject(usage.output_tokens_details) ?? {}
  const tools = asObject(usage.server_tool_use_details) ?? {}
  return {
    ...decodeInputUsage(asCount(usage.input_tokens), inputDetails),
    ...decodeOutputUsage(usage, outputDetails),
    acceptedPrediction: asCount(outputDetails.accepted_prediction_tokens),
    rejectedPrediction: asCount(outputDetails.rejected_prediction_tokens),
    webSearches: asCount(tools.web_search_requests) || searches,
    reportedCost: decodeCost(usage),
  }
}

function decodeInputUsage(total: number, details: JsonObject) {
  const cacheReadTokens = asCount(details.cached_tokens)
  const cacheReadAudio = Math.min(
    cacheReadTokens,
    asCount(asObject(details.cached_tokens_details)?.audio_tokens),
  )
  // More cached tokens than prompt tokens: this vendor counts them outside the prompt.
  const pool = new TokenPool(cacheReadTokens > total ? total : total - cacheReadTokens)
  const written = excludeCacheReads(asCount(details.cache_write_tokens), cacheReadTokens, total)
  const cacheWriteTokens = pool.take(written)
  const cacheWrite1h = Math.min(cacheWriteTokens, asCount(details.cache_write_1h_tokens))
  // `audio_tokens` includes cached audio.
  const inputAudio = pool.take(subtractParts(asCount(details.audio_tokens), cacheReadAudio))
  const inputImage = pool.take(asCount(details.image_tokens))
  const inputVideo = pool.take(asCount(details.video_tokens))
  return {
    input: pool.remaining,
    cacheRead: cacheReadTokens - cacheReadAudio,
    cacheReadAudio,
    cacheWrite: cacheWriteTokens - cacheWrite1h,
    cacheWrite1h,
    inputAudio,
    inputImage,
    inputVideo,
  }
}

function decodeOutputUsage(usage: JsonObject, details: JsonObject) {
  const total = asCount(usage.output_tokens)
  const reasoningTokens = asCount(details.reasoning_tokens)
  // Some vendors count reasoning outside the output, which shows in their total.
  const all = asCount(usage.total_tokens)
  const isReasoningOutside =
    reasoningTokens > 0 && all === asCount(usage.input_tokens) + total + reasoningTokens
  const pool = new TokenPool(isReasoningOutside ? total + reasoningTokens : total)
  const reasoning = pool.take(reasoningTokens)
  const outputAudio = pool.take(asCount(details.audio_tokens))
  const outputImage = pool.take(asCount(details.image_tokens))
  return { output: pool.remaining, reasoning, outputAudio, outputImage }
}

function decodeCost(usage: JsonObject): number | null {
  const cost = asNumber(usage.cost)
  if (cost !== undefined && cost >= 0) return cost
  const ticks = asCount(usage.cost_in_usd_ticks)
  return ticks > 0 ? ticks / ticksPerDollar : null
}

export function encodeUsage(usage: Usage, cost: UsageCost): JsonObject {
  const [input, output] = [countPromptTokens(usage), countCompletionTokens(usage)]
  return omitUndefined({
    input_tokens: input,
    input_tokens_details: omitUndefined({
      cached_tokens: usage.cacheRead + usage.cacheReadAudio,
      cached_tokens_details: usage.cacheReadAudio > 0 ? { audio_tokens: usage.cacheReadAudio } : undefined,
      cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
      cache_write_1h_tokens: omitZero(usage.cacheWrite1h),
      audio_tokens: omitZero(usage.inputAudio + usage.cacheReadAudio),
      image_tokens: omitZero(usage.inputImage),
      video_tokens: omitZero(usage.inputVideo),
    }),
    output_tokens: output,
    output_tokens_details: omitUndefined({
      reasoning_tokens: usage.reasoning,
      audio_tokens: omitZero(usage.outputAudio),
      image_tokens: omitZero(usage.outputImage),
      accepted_prediction_tokens: omitZero(usage.acceptedPrediction),
      rejected_prediction_tokens: omitZero(usage.rejectedPrediction),
    }),
    total_tokens: input + output,
    server_tool_use_details: encodeToolUse(usage, cost),
    cost: cost.total,
    cost_details: {
      upstream_inference_cost: cost.upstream,
      upstream_inference_input_cost: cost.upstreamPrompt,
      upstream_inference_output_cost: cost.upstreamCompletion,
      ...encodeToolCost(cost),
    },
    is_byok: cost.isByok,
  })
}

/** The vendor's usage, including unknown fields, with the gateway's counts and cost in the known fields. */
export function mergeUsage(vendor: unknown, usage: Usage, cost: UsageCost): JsonObject {
  const vendorUsage = asObject(vendor) ?? {}
  const encoded = encodeUsage(usage, cost)
  return {
    ...vendorUsage,
    ...encoded,
    input_tokens_details: {
      ...asObject(vendorUsage.input_tokens_details),
      ...asObject(encoded.input_tokens_details),
    },
    output_tokens_details: {
      ...asObject(vendorUsage.output_tokens_details),
      ...asObject(encoded.output_tokens_details),
    },
  }
}

function omitZero(count: number): number | undefined {
  return count > 0 ? count : undefined
}
