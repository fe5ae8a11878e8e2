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
  subtractParts,
  TokenPool,
  type Usage,
  type UsageCost,
} from '../call/usage.ts'
import { decodeServedTier } from '../tier.ts'
import { hasAnyCount } from '../token-counts.ts'
import type { ServedTier } from '../vocabulary.ts'

const countFields = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'responseTokenCount',
  'thoughtsTokenCount',
]

/**
 * Prompt tokens include cached tokens but not those of tool results; candidate tokens exclude thoughts.
 * Modality details include cached tokens. Null when the upstream reported no counts.
 */
export function decodeUsage(meta: JsonObject, webSearches: number): Usage | null {
  if (!hasAnyCount(meta, countFields)) return null
  const prompt = asCount(meta.promptTokenCount) + asCount(meta.toolUsePromptTokenCount)
  const cached = Math.min(asCount(meta.cachedContentTokenCount), prompt)
  const cacheReadAudio = Math.min(countModality(meta.cacheTokensDetails, 'AUDIO'), cached)
  const written = subtractParts(prompt, cached)
  const cacheWrite = Math.min(asCount(meta.cacheWriteTokenCount), written)
  const cacheWrite1h = Math.min(asCount(meta.cacheWrite1hTokenCount), subtractParts(written, cacheWrite))
  const input = new TokenPool(subtractParts(written, cacheWrite, cacheWrite1h))
  const countUncached = (modality: string) =>
    subtractParts(
      countModality(meta.promptTokensDetails, modality) +
        countModality(meta.toolUsePromptTokensDetails, modality),
      countModality(meta.cacheTokensDetails, modality),
    )
  const reasoning = asCount(meta.thoughtsTokenCount)
  const output = new TokenPool(countOutputTokens(meta, prompt, reasoning))
  return {
    cacheRead: cached - cacheReadAudio,
    cacheReadAudio,
    cacheWrite,
    cacheWrite1h,
    inputAudio: input.take(countUncached('AUDIO')),
    inputImage: input.take(countUncached('IMAGE')),
    inputVideo: input.take(countUncached('VIDEO')),
    input: input.remaining,
    reasoning,
    outputAudio: output.take(countModality(meta.candidatesTokensDetails, 'AUDIO')),
    outputImage: output.take(countModality(meta.candidatesTokensDetails, 'IMAGE')),
    output: output.remaining,
    acceptedPrediction: asCount(meta.acceptedPredictionTokenCount),
    rejectedPrediction: asCount(meta.rejectedPredictionTokenCount),
    webSearches: webSearches || asCount(meta.webSearchCount),
    reportedCost: decodeCost(meta.cost),
  }
}

/** Some versions include thoughts in the candidates: then the total equals prompt plus candidates. */
function countOutputTokens(meta: JsonObject, prompt: number, thoughts: number): number {
  const candidates = asCount(meta.candidatesTokenCount) || asCount(meta.responseTokenCount)
  return thoughts > 0 && asCount(meta.totalTokenCount) === prompt + candidates
    ? subtractParts(candidates, thoughts)
    : candidates
}

function decodeCost(value: unknown): number | null {
  const cost = asNumber(value)
  return cost !== undefined && cost >= 0 ? cost : null
}

function countModality(details: unknown, modality: string): number {
  if (!Array.isArray(details)) return 0
  let sum = 0
  for (const entry of details) {
    const detail = asObject(entry)
    if (detail?.modality === modality) sum += asCount(detail.tokenCount)
  }
  return sum
}

/** Usage in this format, extended with counts that it does not have, in the same style. */
export function encodeUsage(usage: Usage, cost: UsageCost): JsonObject {
  const prompt = countPromptTokens(usage)
  const candidates = subtractParts(countCompletionTokens(usage), usage.reasoning)
  const cached = usage.cacheRead + usage.cacheReadAudio
  return omitUndefined({
    promptTokenCount: prompt,
    candidatesTokenCount: candidates,
    totalTokenCount: prompt + candidates + usage.reasoning,
    cachedContentTokenCount: cached || undefined,
    thoughtsTokenCount: usage.reasoning || undefined,
    promptTokensDetails: encodeModalityDetails(prompt, [
      ['AUDIO', usage.inputAudio + usage.cacheReadAudio],
      ['IMAGE', usage.inputImage],
      ['VIDEO', usage.inputVideo],
    ]),
    cacheTokensDetails:
      cached > 0 ? encodeModalityDetails(cached, [['AUDIO', usage.cacheReadAudio]]) : undefined,
    candidatesTokensDetails: encodeModalityDetails(candidates, [
      ['AUDIO', usage.outputAudio],
      ['IMAGE', usage.outputImage],
    ]),
    cacheWriteTokenCount: usage.cacheWrite || undefined,
    cacheWrite1hTokenCount: usage.cacheWrite1h || undefined,
    webSearchCount: usage.webSearches || undefined,
    acceptedPredictionTokenCount: usage.acceptedPrediction || undefined,
    rejectedPredictionTokenCount: usage.rejectedPrediction || undefined,
    ...encodeCost(cost),
  })
}

function encodeModalityDetails(total: number, others: [string, number][]): JsonObject[] {
  const text = subtractParts(total, ...others.map(([, count]) => count))
  const all: [string, number][] = [['TEXT', text], ...others]
  return all.flatMap(([modality, tokenCount]) => (tokenCount > 0 ? [{ modality, tokenCount }] : []))
}

/** The vendor's two APIs report the tier in different fields. */
export function decodeTier({ serviceTier, trafficType }: JsonObject): ServedTier | undefined {
  return decodeServedTier(serviceTier) ?? decodeServedTier(trafficType)
}

/** This format calls the default tier `standard`. */
export function encodeServedTier(tier: ServedTier | null): JsonObject {
  return tier === null ? {} : { serviceTier: tier === 'default' ? 'standard' : tier }
}

/** The cost of the reply in USD. */
export function encodeCost(cost: UsageCost): JsonObject {
  return {
    cost: cost.total,
    isByok: cost.isByok,
    costDetails: {
      upstreamInferenceCost: cost.upstream,
      upstreamInferencePromptCost: cost.upstreamPrompt,
      upstreamInferenceCompletionsCost: cost.upstreamCompletion,
    },
  }
}
