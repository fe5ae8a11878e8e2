import { type Bill, completionTokens, promptTokens, remainder, Share, type Usage } from '../../call/usage.ts'
import { countOf, defined, type JsonObject, numberOf, objectOf } from '../../lib/loose.ts'
import { tellsAny } from '../counts.ts'

const ticksPerDollar = 1e10

/** From the vendor's nesting; null when it counts nothing. `searches` is what was counted in the output: the format itself does not tell. */
export function decodeUsage(value: unknown, searches: number): Usage | null {
  const usage = objectOf(value)
  if (!usage || !tellsAny(usage, ['input_tokens', 'output_tokens'])) return null
  const into = objectOf(usage.input_tokens_details) ?? {}
  const out = objectOf(usage.output_tokens_details) ?? {}
  const tools = objectOf(usage.server_tool_use_details) ?? {}
  return {
    ...inputBuckets(countOf(usage.input_tokens), into),
    ...outputBuckets(usage, out),
    acceptedPrediction: countOf(out.accepted_prediction_tokens),
    rejectedPrediction: countOf(out.rejected_prediction_tokens),
    webSearches: countOf(tools.web_search_requests) || searches,
    reportedCost: costOf(usage),
  }
}

function inputBuckets(total: number, details: JsonObject) {
  const cached = countOf(details.cached_tokens)
  const cacheReadAudio = Math.min(cached, countOf(objectOf(details.cached_tokens_details)?.audio_tokens))
  // A cache larger than the prompt it is part of: this vendor counts it beside the prompt.
  const share = new Share(cached > total ? total : total - cached)
  const written = share.take(countOf(details.cache_write_tokens))
  const cacheWrite1h = Math.min(written, countOf(details.cache_write_1h_tokens))
  // Audio that came from the cache is among all audio.
  const inputAudio = share.take(remainder(countOf(details.audio_tokens), cacheReadAudio))
  const inputImage = share.take(countOf(details.image_tokens))
  const inputVideo = share.take(countOf(details.video_tokens))
  return {
    input: share.left,
    cacheRead: cached - cacheReadAudio,
    cacheReadAudio,
    cacheWrite: written - cacheWrite1h,
    cacheWrite1h,
    inputAudio,
    inputImage,
    inputVideo,
  }
}

function outputBuckets(usage: JsonObject, details: JsonObject) {
  const total = countOf(usage.output_tokens)
  const thought = countOf(details.reasoning_tokens)
  // Some vendors count thinking beside the output; their total gives it away.
  const all = countOf(usage.total_tokens)
  const beside = thought > 0 && all === countOf(usage.input_tokens) + total + thought
  const share = new Share(beside ? total + thought : total)
  const reasoning = share.take(thought)
  const outputAudio = share.take(countOf(details.audio_tokens))
  const outputImage = share.take(countOf(details.image_tokens))
  return { output: share.left, reasoning, outputAudio, outputImage }
}

function costOf(usage: JsonObject): number | null {
  const cost = numberOf(usage.cost)
  if (cost !== undefined && cost >= 0) return cost
  const ticks = countOf(usage.cost_in_usd_ticks)
  return ticks > 0 ? ticks / ticksPerDollar : null
}

export function encodeUsage(usage: Usage, bill: Bill): JsonObject {
  const [input, output] = [promptTokens(usage), completionTokens(usage)]
  return defined({
    input_tokens: input,
    input_tokens_details: defined({
      cached_tokens: usage.cacheRead + usage.cacheReadAudio,
      cached_tokens_details: usage.cacheReadAudio > 0 ? { audio_tokens: usage.cacheReadAudio } : undefined,
      cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
      cache_write_1h_tokens: some(usage.cacheWrite1h),
      audio_tokens: some(usage.inputAudio + usage.cacheReadAudio),
      image_tokens: some(usage.inputImage),
      video_tokens: some(usage.inputVideo),
    }),
    output_tokens: output,
    output_tokens_details: defined({
      reasoning_tokens: usage.reasoning,
      audio_tokens: some(usage.outputAudio),
      image_tokens: some(usage.outputImage),
      accepted_prediction_tokens: some(usage.acceptedPrediction),
      rejected_prediction_tokens: some(usage.rejectedPrediction),
    }),
    total_tokens: input + output,
    server_tool_use_details: usage.webSearches > 0 ? { web_search_requests: usage.webSearches } : undefined,
    cost: bill.cost,
    cost_details: {
      upstream_inference_cost: bill.upstreamCost,
      upstream_inference_input_cost: bill.upstreamPromptCost,
      upstream_inference_output_cost: bill.upstreamCompletionCost,
    },
    is_byok: bill.isByok,
  })
}

/** The vendor's own usage with ours over it: what only the vendor tells stays. */
export function mergeUsage(vendor: unknown, usage: Usage, bill: Bill): JsonObject {
  const own = objectOf(vendor) ?? {}
  const ours = encodeUsage(usage, bill)
  return {
    ...own,
    ...ours,
    input_tokens_details: { ...objectOf(own.input_tokens_details), ...objectOf(ours.input_tokens_details) },
    output_tokens_details: {
      ...objectOf(own.output_tokens_details),
      ...objectOf(ours.output_tokens_details),
    },
  }
}

function some(count: number): number | undefined {
  return count > 0 ? count : undefined
}
