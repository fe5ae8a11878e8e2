import { type Bill, completionTokens, noTokens, remainder, type Usage } from '../../call/usage.ts'
import type { ServedTier } from '../../catalog/vocabulary.ts'
import { countOf, type JsonObject, numberOf, objectOf, objectsOf } from '../../lib/loose.ts'
import { tellsAny } from '../counts.ts'
import type { ReplyFacts } from '../dialect.ts'
import { servedTier } from '../tier.ts'

/** Later numbers replace earlier ones: what a stream says is cumulative, and may be corrected. */
export function mergeUsage(earlier: JsonObject, later: unknown): JsonObject {
  for (const [name, value] of Object.entries(objectOf(later) ?? {})) {
    if (value !== null && value !== undefined) earlier[name] = value
  }
  return earlier
}

const counters = ['input_tokens', 'output_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']

/** Null when nothing is counted. */
export function readUsage(raw: JsonObject): Usage | null {
  if (!tellsAny(raw, counters)) return null
  const given = objectOf(raw.output_tokens_details)
  const inputDetails = objectOf(raw.input_tokens_details)
  const usage: Usage = {
    ...noTokens,
    ...cacheWrites(raw),
    ...cacheReads(raw, inputDetails),
    inputAudio: countOf(inputDetails?.audio_tokens),
    inputImage: countOf(inputDetails?.image_tokens),
    inputVideo: countOf(inputDetails?.video_tokens),
    reasoning: countOf(given?.thinking_tokens),
    outputAudio: countOf(given?.audio_tokens),
    outputImage: countOf(given?.image_tokens),
    acceptedPrediction: countOf(given?.accepted_prediction_tokens),
    rejectedPrediction: countOf(given?.rejected_prediction_tokens),
    webSearches: countOf(objectOf(raw.server_tool_use)?.web_search_requests),
    reportedCost: costOf(raw.cost),
  }
  const { inputAudio, inputImage, inputVideo, reasoning, outputAudio, outputImage } = usage
  usage.input = remainder(countOf(raw.input_tokens), inputAudio, inputImage, inputVideo)
  usage.output = remainder(countOf(raw.output_tokens), reasoning, outputAudio, outputImage)
  addIterations(usage, raw.iterations)
  return usage
}

/** The format tells no media apart; where a gateway does, cached audio is among what came from the cache. */
function cacheReads(raw: JsonObject, details: JsonObject | undefined) {
  const total = countOf(raw.cache_read_input_tokens)
  const cacheReadAudio = Math.min(countOf(details?.cached_audio_tokens), total)
  return { cacheRead: total - cacheReadAudio, cacheReadAudio }
}

/** The total may come without its split, or the split without its total. */
function cacheWrites(raw: JsonObject): { cacheWrite: number; cacheWrite1h: number } {
  const split = objectOf(raw.cache_creation)
  const hour = countOf(split?.ephemeral_1h_input_tokens)
  const total = countOf(raw.cache_creation_input_tokens)
  if (total === 0) return { cacheWrite: countOf(split?.ephemeral_5m_input_tokens), cacheWrite1h: hour }
  const cacheWrite1h = Math.min(hour, total)
  return { cacheWrite: total - cacheWrite1h, cacheWrite1h }
}

/** What else the vendor's models did on the way: billed, and not in the totals. */
const besideTheTotals: ReadonlySet<unknown> = new Set(['compaction', 'advisor_message'])

function addIterations(usage: Usage, iterations: unknown): void {
  for (const iteration of objectsOf(iterations)) {
    if (!besideTheTotals.has(iteration.type)) continue
    const writes = cacheWrites(iteration)
    usage.input += countOf(iteration.input_tokens)
    usage.output += countOf(iteration.output_tokens)
    usage.cacheRead += countOf(iteration.cache_read_input_tokens)
    usage.cacheWrite += writes.cacheWrite
    usage.cacheWrite1h += writes.cacheWrite1h
  }
}

function costOf(value: unknown): number | null {
  const cost = numberOf(value)
  return cost !== undefined && cost >= 0 ? cost : null
}

/** What served a reply: speed is sold apart from capacity, and both are lanes with prices of their own. */
export function readTier(value: unknown): ServedTier | undefined {
  const usage = objectOf(value)
  return usage?.speed === 'fast' ? 'priority' : servedTier(usage?.service_tier)
}

/** What others call the default tier is `standard` here. */
export function tierName(tier: ServedTier | null | undefined): string {
  return tier === 'priority' || tier === 'flex' ? tier : 'standard'
}

/** Before anything is known. All fields a client may rely on are there. */
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

export function writeUsage(usage: Usage): JsonObject {
  const { cacheWrite, cacheWrite1h, inputAudio, inputImage, inputVideo } = usage
  const media = nonZero({
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
    output_tokens: completionTokens(usage),
    output_tokens_details: {
      thinking_tokens: usage.reasoning,
      ...nonZero({
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

/** Buckets the format does not have: named only where there is something in them. */
function nonZero(counts: Record<string, number>): JsonObject | undefined {
  const some = Object.entries(counts).filter(([, count]) => count > 0)
  return some.length > 0 ? Object.fromEntries(some) : undefined
}

export function writeBill(bill: Bill): JsonObject {
  return {
    cost: bill.cost,
    is_byok: bill.isByok,
    cost_details: {
      upstream_inference_cost: bill.upstreamCost,
      upstream_inference_prompt_cost: bill.upstreamPromptCost,
      upstream_inference_completions_cost: bill.upstreamCompletionCost,
    },
  }
}

/** The vendor's own usage with the bill; where it is silent or absurd, what was counted. */
export function billedUsage(
  raw: JsonObject,
  usage: Usage,
  bill: Bill,
  { tier }: Pick<ReplyFacts, 'tier'>,
): JsonObject {
  const blank = { ...emptyUsage, service_tier: tierName(tier) }
  const billed: JsonObject = { ...blank, ...writeUsage(usage), ...mergeUsage({}, raw) }
  const counted = writeUsage(usage)
  for (const name of counters) if (countOf(billed[name]) !== billed[name]) billed[name] = counted[name]
  return { ...billed, ...writeBill(bill) }
}
