import { type Bill, completionTokens, promptTokens, remainder, Share, type Usage } from '../../call/usage.ts'
import type { ServedTier } from '../../catalog/vocabulary.ts'
import { countOf, defined, type JsonObject, numberOf, objectOf } from '../../lib/loose.ts'
import { tellsAny } from '../counts.ts'
import { servedTier } from '../tier.ts'

const counts = [
  'promptTokenCount',
  'toolUsePromptTokenCount',
  'candidatesTokenCount',
  'responseTokenCount',
  'thoughtsTokenCount',
]

/**
 * The vendor's counts in buckets. The prompt includes what came from the cache, but not what tools put into
 * it; the candidates leave the thoughts out. Modalities count cached tokens too. Null when nothing is counted.
 */
export function usageOf(meta: JsonObject, webSearches: number): Usage | null {
  if (!tellsAny(meta, counts)) return null
  const prompt = countOf(meta.promptTokenCount) + countOf(meta.toolUsePromptTokenCount)
  const cached = Math.min(countOf(meta.cachedContentTokenCount), prompt)
  const cacheReadAudio = Math.min(modalityOf(meta.cacheTokensDetails, 'AUDIO'), cached)
  const written = remainder(prompt, cached)
  const cacheWrite = Math.min(countOf(meta.cacheWriteTokenCount), written)
  const cacheWrite1h = Math.min(countOf(meta.cacheWrite1hTokenCount), remainder(written, cacheWrite))
  const input = new Share(remainder(written, cacheWrite, cacheWrite1h))
  const given = (modality: string) =>
    remainder(
      modalityOf(meta.promptTokensDetails, modality) + modalityOf(meta.toolUsePromptTokensDetails, modality),
      modalityOf(meta.cacheTokensDetails, modality),
    )
  const reasoning = countOf(meta.thoughtsTokenCount)
  const output = new Share(answerTokens(meta, prompt, reasoning))
  return {
    cacheRead: cached - cacheReadAudio,
    cacheReadAudio,
    cacheWrite,
    cacheWrite1h,
    inputAudio: input.take(given('AUDIO')),
    inputImage: input.take(given('IMAGE')),
    inputVideo: input.take(given('VIDEO')),
    input: input.left,
    reasoning,
    outputAudio: output.take(modalityOf(meta.candidatesTokensDetails, 'AUDIO')),
    outputImage: output.take(modalityOf(meta.candidatesTokensDetails, 'IMAGE')),
    output: output.left,
    acceptedPrediction: countOf(meta.acceptedPredictionTokenCount),
    rejectedPrediction: countOf(meta.rejectedPredictionTokenCount),
    webSearches: webSearches || countOf(meta.webSearchCount),
    reportedCost: costOf(meta.cost),
  }
}

/** Some versions count the thoughts among the candidates: then the total has no room for them beside. */
function answerTokens(meta: JsonObject, prompt: number, thoughts: number): number {
  const answer = countOf(meta.candidatesTokenCount) || countOf(meta.responseTokenCount)
  return thoughts > 0 && countOf(meta.totalTokenCount) === prompt + answer
    ? remainder(answer, thoughts)
    : answer
}

function costOf(value: unknown): number | null {
  const cost = numberOf(value)
  return cost !== undefined && cost >= 0 ? cost : null
}

function modalityOf(details: unknown, modality: string): number {
  if (!Array.isArray(details)) return 0
  let sum = 0
  for (const entry of details) {
    const detail = objectOf(entry)
    if (detail?.modality === modality) sum += countOf(detail.tokenCount)
  }
  return sum
}

/** Usage as a client of this format reads it; what the format has no word for stands beside, in its style. */
export function writeUsage(usage: Usage, bill: Bill): JsonObject {
  const prompt = promptTokens(usage)
  const answer = remainder(completionTokens(usage), usage.reasoning)
  const cached = usage.cacheRead + usage.cacheReadAudio
  return defined({
    promptTokenCount: prompt,
    candidatesTokenCount: answer,
    totalTokenCount: prompt + answer + usage.reasoning,
    cachedContentTokenCount: cached || undefined,
    thoughtsTokenCount: usage.reasoning || undefined,
    promptTokensDetails: details(prompt, [
      ['AUDIO', usage.inputAudio + usage.cacheReadAudio],
      ['IMAGE', usage.inputImage],
      ['VIDEO', usage.inputVideo],
    ]),
    cacheTokensDetails: cached > 0 ? details(cached, [['AUDIO', usage.cacheReadAudio]]) : undefined,
    candidatesTokensDetails: details(answer, [
      ['AUDIO', usage.outputAudio],
      ['IMAGE', usage.outputImage],
    ]),
    cacheWriteTokenCount: usage.cacheWrite || undefined,
    cacheWrite1hTokenCount: usage.cacheWrite1h || undefined,
    webSearchCount: usage.webSearches || undefined,
    acceptedPredictionTokenCount: usage.acceptedPrediction || undefined,
    rejectedPredictionTokenCount: usage.rejectedPrediction || undefined,
    ...billFields(bill),
  })
}

function details(total: number, others: [string, number][]): JsonObject[] {
  const text = remainder(total, ...others.map(([, count]) => count))
  const all: [string, number][] = [['TEXT', text], ...others]
  return all.flatMap(([modality, tokenCount]) => (tokenCount > 0 ? [{ modality, tokenCount }] : []))
}

/** One of the vendor's two houses says which tier served, the other what kind of traffic it was. */
export function tierOf({ serviceTier, trafficType }: JsonObject): ServedTier | undefined {
  return servedTier(serviceTier) ?? servedTier(trafficType)
}

/** What others call the default tier is `standard` here. */
export function tierField(tier: ServedTier | null): JsonObject {
  return tier === null ? {} : { serviceTier: tier === 'default' ? 'standard' : tier }
}

/** What the reply cost, in USD. */
export function billFields(bill: Bill): JsonObject {
  return {
    cost: bill.cost,
    isByok: bill.isByok,
    costDetails: {
      upstreamInferenceCost: bill.upstreamCost,
      upstreamInferencePromptCost: bill.upstreamPromptCost,
      upstreamInferenceCompletionsCost: bill.upstreamCompletionCost,
    },
  }
}
