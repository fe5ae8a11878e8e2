/**
 * What a reply consumed, in buckets that do not overlap: the prompt is the sum of the input buckets, the
 * output the sum of the output buckets, whatever the vendor's own nesting.
 */
export interface Usage {
  /** Prompt tokens in no other bucket. */
  input: number
  cacheRead: number
  /** Audio that came from a cache, where the vendor tells it apart. */
  cacheReadAudio: number
  /** Written to a cache that lives 5 minutes, or for a time that is not said. */
  cacheWrite: number
  cacheWrite1h: number
  inputAudio: number
  inputImage: number
  inputVideo: number
  /** Output tokens in no other bucket. */
  output: number
  reasoning: number
  outputAudio: number
  outputImage: number
  /** Of the output, tokens of a prediction that came true and that did not: a remark, not a bucket. */
  acceptedPrediction: number
  rejectedPrediction: number
  webSearches: number
  /** USD, where the vendor says what it charged. */
  reportedCost: number | null
}

export const zeroUsage: Usage = {
  input: 0,
  cacheRead: 0,
  cacheReadAudio: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  inputAudio: 0,
  inputImage: 0,
  inputVideo: 0,
  output: 0,
  reasoning: 0,
  outputAudio: 0,
  outputImage: 0,
  acceptedPrediction: 0,
  rejectedPrediction: 0,
  webSearches: 0,
  reportedCost: null,
}

export function countPromptTokens(usage: Usage): number {
  return (
    usage.input +
    usage.cacheRead +
    usage.cacheReadAudio +
    usage.cacheWrite +
    usage.cacheWrite1h +
    usage.inputAudio +
    usage.inputImage +
    usage.inputVideo
  )
}

export function countCompletionTokens(usage: Usage): number {
  return usage.output + usage.reasoning + usage.outputAudio + usage.outputImage
}

/** A total that includes others, without them: never negative, however a vendor counts. */
export function subtractParts(total: number, ...parts: number[]): number {
  return Math.max(
    0,
    parts.reduce((left, part) => left - part, total),
  )
}

/** What is left of a total, handed out in turn: counts that overlap cannot add up to more than it. */
export class TokenPool {
  remaining: number

  constructor(total: number) {
    this.remaining = total
  }

  take(requested: number): number {
    const attempt = Math.min(requested, this.remaining)
    this.remaining -= attempt
    return attempt
  }
}

/** What a reply cost, as clients are shown it. Amounts are USD, for display. */
export interface UsageCost {
  total: number
  isByok: boolean
  upstream: number
  upstreamPrompt: number
  upstreamCompletion: number
}
