import { type Bill, completionTokens, promptTokens, remainder, Share, type Usage } from '../../call/usage.ts'
import { countOf, type JsonObject, numberOf, objectOf } from '../../lib/loose.ts'
import { tellsAny } from '../counts.ts'

/** One of the vendors counts its charge in these. */
const ticksPerDollar = 1e10

/** The usage object of a chunk or of a whole reply, wherever a vendor puts it. One that counts nothing is none. */
export function usageObjectOf(body: JsonObject): JsonObject | undefined {
  const own = counted(body.usage) ?? counted(objectOf(body.x_groq)?.usage)
  if (own) return own
  if (!Array.isArray(body.choices)) return undefined
  for (const choice of body.choices) {
    const inside = counted(objectOf(choice)?.usage)
    if (inside) return inside
  }
  return undefined
}

const counts = ['prompt_tokens', 'input_tokens', 'completion_tokens', 'output_tokens']

function counted(value: unknown): JsonObject | undefined {
  const usage = objectOf(value)
  return usage && tellsAny(usage, counts) ? usage : undefined
}

/** A vendor's nested counts as buckets that do not overlap. */
export function readUsage(usage: JsonObject): Usage {
  return { ...readPrompt(usage), ...readCompletion(usage), ...readExtras(usage) }
}

function promptDetails(usage: JsonObject): JsonObject {
  return objectOf(usage.prompt_tokens_details) ?? objectOf(usage.prompt_token_details) ?? {}
}

function readPrompt(usage: JsonObject) {
  const details = promptDetails(usage)
  const share = new Share(countOf(usage.prompt_tokens ?? usage.input_tokens))
  const cached = share.take(
    countOf(
      details.cached_tokens ??
        usage.prompt_cache_hit_tokens ??
        usage.cached_tokens ??
        usage.num_cached_tokens,
    ),
  )
  const cachedAudio = countOf(objectOf(details.cached_tokens_details)?.audio_tokens)
  const cacheReadAudio = Math.min(cached, cachedAudio)
  const written = share.take(
    countOf(
      details.cache_write_tokens ?? details.cache_creation_input_tokens ?? usage.cache_creation_input_tokens,
    ),
  )
  const cacheWrite1h = Math.min(written, countOf(details.cache_write_1h_tokens))
  // Audio that came from the cache is among all audio.
  const inputAudio = share.take(remainder(countOf(details.audio_tokens), cacheReadAudio))
  const inputImage = share.take(countOf(details.image_tokens))
  const inputVideo = share.take(countOf(details.video_tokens))
  return {
    // Some vendors search for the answer, and bill what they found as a prompt they do not count as one.
    input: share.left + countOf(usage.citation_tokens),
    cacheRead: cached - cacheReadAudio,
    cacheReadAudio,
    cacheWrite: remainder(written, cacheWrite1h),
    cacheWrite1h,
    inputAudio,
    inputImage,
    inputVideo,
  }
}

function readCompletion(usage: JsonObject) {
  const details = objectOf(usage.completion_tokens_details) ?? {}
  const told = countOf(usage.completion_tokens ?? usage.output_tokens)
  const counted = numberOf(details.reasoning_tokens) ?? numberOf(usage.reasoning_tokens)
  const thought = counted === undefined ? hiddenThought(usage, told) : countOf(counted)
  const share = new Share(isOutside(usage, told, thought) ? told + thought : told)
  const reasoning = share.take(thought)
  const outputAudio = share.take(countOf(details.audio_tokens))
  const outputImage = share.take(countOf(details.image_tokens))
  return {
    output: share.left,
    reasoning,
    outputAudio,
    outputImage,
    acceptedPrediction: countOf(details.accepted_prediction_tokens),
    rejectedPrediction: countOf(details.rejected_prediction_tokens),
  }
}

/** Some vendors leave thinking out of `completion_tokens`: their total shows it, or they count it apart. */
function isOutside(usage: JsonObject, told: number, thought: number): boolean {
  if (thought === 0) return false
  const total = countOf(usage.total_tokens)
  const prompt = countOf(usage.prompt_tokens ?? usage.input_tokens)
  if (total > 0 && total >= prompt + told + thought) return true
  return thought > told && (total === 0 || usage.reasoning_tokens === thought)
}

/** Thinking that nothing but the total counts. What came from a cache may be beside the prompt. */
function hiddenThought(usage: JsonObject, told: number): number {
  const details = promptDetails(usage)
  const beside = countOf(details.cached_tokens) + countOf(usage.citation_tokens)
  const prompt = countOf(usage.prompt_tokens ?? usage.input_tokens)
  return remainder(countOf(usage.total_tokens), prompt, told, beside)
}

function readExtras(usage: JsonObject) {
  const tools = objectOf(usage.server_tool_use_details) ?? objectOf(usage.server_tool_use)
  return {
    webSearches: countOf(tools?.web_search_requests ?? usage.num_search_queries),
    reportedCost: readCost(usage),
  }
}

function readCost(usage: JsonObject): number | null {
  const ticks = numberOf(usage.cost_in_usd_ticks)
  const cost =
    numberOf(usage.cost) ??
    numberOf(objectOf(usage.cost)?.total_cost) ??
    numberOf(usage.estimated_cost) ??
    (ticks === undefined ? undefined : ticks / ticksPerDollar)
  return cost !== undefined && cost >= 0 ? cost : null
}

/** Counts and bill as clients see them. What the format has no field for is there only when there is some of it. */
export function writeUsage(usage: Usage, bill: Bill): JsonObject {
  const [prompt, completion] = [promptTokens(usage), completionTokens(usage)]
  const input: JsonObject = {
    cached_tokens: usage.cacheRead + usage.cacheReadAudio,
    cache_write_tokens: usage.cacheWrite + usage.cacheWrite1h,
    audio_tokens: usage.inputAudio + usage.cacheReadAudio,
    video_tokens: usage.inputVideo,
  }
  if (usage.cacheReadAudio > 0) input.cached_tokens_details = { audio_tokens: usage.cacheReadAudio }
  if (usage.cacheWrite1h > 0) input.cache_write_1h_tokens = usage.cacheWrite1h
  if (usage.inputImage > 0) input.image_tokens = usage.inputImage
  const written: JsonObject = {
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
    ...writeBill(bill),
  }
  if (usage.webSearches > 0) written.server_tool_use_details = { web_search_requests: usage.webSearches }
  return written
}

function writeBill(bill: Bill): JsonObject {
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

/** The vendor's own usage, unknown fields and all, with our counts and bill in the fields we know. */
export function mergeUsage(vendor: JsonObject | undefined, usage: Usage, bill: Bill): JsonObject {
  const ours = writeUsage(usage, bill)
  if (!vendor) return ours
  const merged: JsonObject = { ...vendor, ...ours }
  for (const name of ['prompt_tokens_details', 'completion_tokens_details', 'cost_details']) {
    merged[name] = { ...objectOf(vendor[name]), ...objectOf(ours[name]) }
  }
  return merged
}
