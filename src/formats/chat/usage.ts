import {
  asCount,
  asNumber,
  asObject,
  firstCount,
  firstFilled,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import {
  countCompletionTokens,
  countPromptTokens,
  excludeCacheReads,
  subtractParts,
  TokenPool,
  type Usage,
  type UsageCost,
  zeroUsage,
} from '../call/usage.ts'
import { hasAnyCount } from '../token-counts.ts'
import { encodeToolCost, encodeToolUse } from '../tool-usage.ts'

/** The unit of one vendor's `cost_in_usd_ticks`. */
const ticksPerDollar = 1e10

/** The usage object of a chunk or a whole reply, in any vendor's location; undefined without counts. */
export function findUsage(body: JsonObject): JsonObject | undefined {
  const topLevel = usageIfCounted(body.usage) ?? usageIfCounted(asObject(body.x_groq)?.usage)
  if (topLevel) return topLevel
  if (!Array.isArray(body.choices)) return undefined
  for (const choice of body.choices) {
    const inside = usageIfCounted(asObject(choice)?.usage)
    if (inside) return inside
  }
  return undefined
}

const countFields = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens']

function usageIfCounted(value: unknown): JsonObject | undefined {
  const usage = asObject(value)
  return usage && hasAnyCount(usage, countFields) ? usage : undefined
}

/** Converts a vendor's nested counts to buckets that do not overlap. */
export function decodeUsage(usage: JsonObject): Usage {
  return decodeStandardUsage(usage) ?? decodeVendorUsage(usage)
}

const standardFields: ReadonlySet<string> = new Set([
  ...['prompt_tokens', 'completion_tokens', 'total_tokens'],
  ...['prompt_tokens_details', 'completion_tokens_details'],
])
const standardDetails: ReadonlySet<string> = new Set([
  ...['cached_tokens', 'audio_tokens', 'reasoning_tokens'],
  ...['accepted_prediction_tokens', 'rejected_prediction_tokens'],
])

/** Consistent counts of text as most vendors report them; null for any others. */
function decodeStandardUsage(usage: JsonObject): Usage | null {
  for (const name in usage) if (!standardFields.has(name)) return null
  const { prompt_tokens: prompt, completion_tokens: completion, total_tokens: total } = usage
  const input = usage.prompt_tokens_details ?? noDetails
  const output = usage.completion_tokens_details ?? noDetails
  if (!hasStandardCounts(input) || !hasStandardCounts(output)) return null
  const { cached_tokens: cached = 0 } = input
  const { reasoning_tokens: reasoning = 0 } = output
  const isConsistent =
    isCount(prompt) &&
    isCount(completion) &&
    total === prompt + completion &&
    cached <= prompt &&
    reasoning <= completion
  if (!isConsistent) return null
  return {
    ...zeroUsage,
    input: prompt - cached,
    cacheRead: cached,
    output: completion - reasoning,
    reasoning,
    acceptedPrediction: output.accepted_prediction_tokens ?? 0,
    rejectedPrediction: output.rejected_prediction_tokens ?? 0,
  }
}

const noDetails = {}

/** Audio has a bucket of its own. */
function hasStandardCounts(details: unknown): details is Record<string, number | undefined> {
  const counts = asObject(details)
  if (!counts) return false
  for (const name in counts) if (!standardDetails.has(name) || !isCount(counts[name])) return false
  return !counts.audio_tokens
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

export function decodeVendorUsage(usage: JsonObject): Usage {
  return { ...decodePromptUsage(usage), ...decodeCompletionUsage(usage), ...decodeUsageExtras(usage) }
}

function promptDetailsOf(usage: JsonObject): JsonObject {
  return asObject(firstFilled(usage.prompt_tokens_details, usage.prompt_token_details)) ?? {}
}

function decodePromptUsage(usage: JsonObject) {
  const details = promptDetailsOf(usage)
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens)
  const pool = new TokenPool(prompt)
  const cacheReadTokens = pool.take(
    firstCount(
      details.cached_tokens,
      usage.prompt_cache_hit_tokens,
      usage.cached_tokens,
      usage.num_cached_tokens,
    ),
  )
  const cachedAudio = asCount(asObject(details.cached_tokens_details)?.audio_tokens)
  const cacheReadAudio = Math.min(cacheReadTokens, cachedAudio)
  const written = firstCount(
    details.cache_write_tokens,
    details.cache_creation_input_tokens,
    usage.cache_creation_input_tokens,
  )
  const cacheWriteTokens = pool.take(excludeCacheReads(written, cacheReadTokens, prompt))
  const cacheWrite1h = Math.min(cacheWriteTokens, asCount(details.cache_write_1h_tokens))
  // `audio_tokens` includes cached audio.
  const inputAudio = pool.take(subtractParts(asCount(details.audio_tokens), cacheReadAudio))
  const inputImage = pool.take(asCount(details.image_tokens))
  const inputVideo = pool.take(asCount(details.video_tokens))
  return {
    // Vendors with built-in search bill the retrieved text as prompt without counting it in `prompt_tokens`.
    input: pool.remaining + asCount(usage.citation_tokens),
    cacheRead: cacheReadTokens - cacheReadAudio,
    cacheReadAudio,
    cacheWrite: subtractParts(cacheWriteTokens, cacheWrite1h),
    cacheWrite1h,
    inputAudio,
    inputImage,
    inputVideo,
  }
}

function decodeCompletionUsage(usage: JsonObject) {
  const details = asObject(usage.completion_tokens_details) ?? {}
  const reported = firstCount(usage.completion_tokens, usage.output_tokens)
  const reasoningCount = asNumber(details.reasoning_tokens) ?? asNumber(usage.reasoning_tokens)
  const reasoningTokens =
    reasoningCount === undefined ? inferReasoningTokens(usage, reported) : asCount(reasoningCount)
  const pool = new TokenPool(
    isReasoningOutside(usage, reported, reasoningTokens) ? reported + reasoningTokens : reported,
  )
  const reasoning = pool.take(reasoningTokens)
  const outputAudio = pool.take(asCount(details.audio_tokens))
  const outputImage = pool.take(asCount(details.image_tokens))
  return {
    output: pool.remaining,
    reasoning,
    outputAudio,
    outputImage,
    acceptedPrediction: asCount(details.accepted_prediction_tokens),
    rejectedPrediction: asCount(details.rejected_prediction_tokens),
  }
}

/** Some vendors exclude reasoning from `completion_tokens`: the total or a separate count shows it. */
function isReasoningOutside(usage: JsonObject, completion: number, reasoning: number): boolean {
  if (reasoning === 0) return false
  const total = asCount(usage.total_tokens)
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens)
  if (total > 0 && total >= prompt + completion + reasoning) return true
  return reasoning > completion && (total === 0 || usage.reasoning_tokens === reasoning)
}

/** Reasoning that only the total includes. Cached tokens may be outside `prompt_tokens`. */
function inferReasoningTokens(usage: JsonObject, completion: number): number {
  const details = promptDetailsOf(usage)
  const outsidePrompt = asCount(details.cached_tokens) + asCount(usage.citation_tokens)
  const prompt = firstCount(usage.prompt_tokens, usage.input_tokens)
  return subtractParts(asCount(usage.total_tokens), prompt, completion, outsidePrompt)
}

function decodeUsageExtras(usage: JsonObject) {
  const tools = asObject(firstFilled(usage.server_tool_use_details, usage.server_tool_use))
  return {
    webSearches: firstCount(tools?.web_search_requests, usage.num_search_queries),
    reportedCost: decodeCost(usage),
  }
}

function decodeCost(usage: JsonObject): number | null {
  const ticks = asNumber(usage.cost_in_usd_ticks)
  const cost =
    asNumber(usage.cost) ??
    asNumber(asObject(usage.cost)?.total_cost) ??
    asNumber(usage.estimated_cost) ??
    (ticks === undefined ? undefined : ticks / ticksPerDollar)
  return cost !== undefined && cost >= 0 ? cost : null
}

/** Usage and cost as sent to clients. Counts that extend the format are only there when not zero. */
export function encodeUsage(usage: Usage, cost: UsageCost): JsonObject {
  const [prompt, completion] = [countPromptTokens(usage), countCompletionTokens(usage)]
  const input: JsonObject = {
    cached_tokens: usage.cacheRead + usage.cacheReadAudio,
    cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
    audio_tokens: usage.inputAudio + usage.cacheReadAudio,
    video_tokens: usage.inputVideo,
  }
  if (usage.cacheReadAudio > 0) input.cached_tokens_details = { audio_tokens: usage.cacheReadAudio }
  if (usage.cacheWrite1h > 0) input.cache_write_1h_tokens = usage.cacheWrite1h
  if (usage.inputImage > 0) input.image_tokens = usage.inputImage
  const encoded: JsonObject = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: input,
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: usage.outputAudio,
      image_tokens: usage.outputImage,
      accepted_prediction_tokens: usage.acceptedPrediction,
      rejected_prediction_tokens: usage.rejectedPrediction,
    },
    ...encodeCost(cost),
  }
  const toolUse = cost.serverTools || usage.webSearches > 0 ? encodeToolUse(usage, cost) : undefined
  if (toolUse) encoded.server_tool_use_details = toolUse
  return encoded
}

export function encodeCost(cost: UsageCost): JsonObject {
  return {
    cost: cost.total,
    is_byok: cost.isByok,
    cost_details: {
      upstream_inference_cost: cost.upstream,
      upstream_inference_prompt_cost: cost.upstreamPrompt,
      upstream_inference_completions_cost: cost.upstreamCompletion,
      ...(cost.serverTools && encodeToolCost(cost)),
    },
  }
}

/** The vendor's usage, including unknown fields, with the gateway's counts and cost in the known fields. */
export function mergeUsage(vendor: JsonObject | undefined, usage: Usage, cost: UsageCost): JsonObject {
  const encoded = encodeUsage(usage, cost)
  if (!vendor) return encoded
  const merged: JsonObject = { ...vendor, ...encoded }
  for (const name of ['prompt_tokens_details', 'completion_tokens_details', 'cost_details']) {
    merged[name] = { ...asObject(vendor[name]), ...asObject(encoded[name]) }
  }
  return merged
}
