/**
 * Token counts in buckets that do not overlap: the prompt is the sum of the input buckets, the completion the
 * sum of the output buckets, however the vendor nests them.
 */
export interface Usage {
  /** Prompt tokens in no other bucket. */
  input: number
  cacheRead: number
  /** Audio read from a cache, if the vendor counts it separately. */
  cacheReadAudio: number
  /** Written to a cache with a TTL of 5 minutes, or with an unknown TTL. */
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
  /** Tokens of a prediction that were used and discarded. Already in the output buckets. */
  acceptedPrediction: number
  rejectedPrediction: number
  webSearches: number
  /** The vendor's charge in USD, if it reports one. */
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

export function addUsage(a: Usage, b: Usage): Usage {
  return combineUsage(a, b, 1)
}

/** Subtracts one of its parts from a sum. */
export function subtractUsage(sum: Usage, part: Usage): Usage {
  return combineUsage(sum, part, -1)
}

function combineUsage(a: Usage, b: Usage, sign: 1 | -1): Usage {
  const { reportedCost, ...counts } = a
  const combined: Usage = { ...zeroUsage }
  for (const name of Object.keys(counts) as (keyof typeof counts)[]) combined[name] = a[name] + sign * b[name]
  const isReported = reportedCost !== null || b.reportedCost !== null
  combined.reportedCost = isReported ? (reportedCost ?? 0) + sign * (b.reportedCost ?? 0) : null
  return combined
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

/** The total without the parts it includes; never negative, however a vendor counts. */
export function subtractParts(total: number, ...parts: number[]): number {
  return Math.max(
    0,
    parts.reduce((left, part) => left - part, total),
  )
}

/** Tokens written to a cache. A count that does not fit into the rest of the prompt includes the tokens read. */
export function excludeCacheReads(written: number, read: number, prompt: number): number {
  return read <= prompt && read + written > prompt ? subtractParts(written, read) : written
}

/** Splits a total into buckets: overlapping counts never sum to more than the total. */
export class TokenPool {
  remaining: number

  constructor(total: number) {
    this.remaining = total
  }

  take(requested: number): number {
    const granted = Math.min(requested, this.remaining)
    this.remaining -= granted
    return granted
  }
}

/** The cost of a reply as reported to clients, in USD. */
export interface UsageCost {
  total: number
  isByok: boolean
  upstream: number
  upstreamPrompt: number
  upstreamCompletion: number
  /** The cost of tools and plugins, including their requests to other models, and the calls of tools. */
  serverTools?: ServerToolUse
}

export interface ServerToolUse {
  /** Cost in USD. */
  cost: number
  requested: number
  executed: number
  webSearches: number
  /** Pages that were read. */
  webFetches: number
}
