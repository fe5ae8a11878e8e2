import type { ReportedRate } from './learned-rate.ts'
import type { RateMeasure } from './rate-use.ts'

/** Headers that are present wherever a provider reports its rates, in the form of OpenAI or of Anthropic. */
export const openaiMarker = 'x-ratelimit-limit-requests'
export const anthropicMarker = 'anthropic-ratelimit-requests-limit'

/** Longer windows, such as those of a day, are left to the provider: waiting for them does not help. */
const maxResetMs = 5 * 60_000
const unknownResetMs = 60_000

/** The rates that a provider reports in the headers of a reply. `now`: milliseconds since the epoch. */
export function readRateHeaders(headers: Headers, now: number): ReportedRate[] {
  return headers.has(openaiMarker) ? readOpenai(headers, now) : readAnthropic(headers, now)
}

function readOpenai(headers: Headers, now: number): ReportedRate[] {
  return (['requests', 'tokens'] as const).flatMap((measure) =>
    toRate(measure, {
      limit: headers.get(`x-ratelimit-limit-${measure}`),
      remaining: headers.get(`x-ratelimit-remaining-${measure}`),
      resetMs: parseReset(headers.get(`x-ratelimit-reset-${measure}`), now),
    }),
  )
}

const anthropicMeasures = {
  requests: 'requests',
  tokens: 'tokens',
  input_tokens: 'input-tokens',
  output_tokens: 'output-tokens',
} as const satisfies Record<RateMeasure, string>

function readAnthropic(headers: Headers, now: number): ReportedRate[] {
  // The time of the provider, which its resets are relative to.
  const date = Date.parse(headers.get('date') ?? '')
  const at = Number.isNaN(date) ? now : date
  return Object.entries(anthropicMeasures).flatMap(([measure, name]) =>
    toRate(measure as RateMeasure, {
      limit: headers.get(`anthropic-ratelimit-${name}-limit`),
      remaining: headers.get(`anthropic-ratelimit-${name}-remaining`),
      resetMs: parseReset(headers.get(`anthropic-ratelimit-${name}-reset`), at),
    }),
  )
}

interface RateTexts {
  limit: string | null
  remaining: string | null
  /** Null if it cannot be read. */
  resetMs: number | null
}

function toRate(measure: RateMeasure, texts: RateTexts): ReportedRate[] {
  if (texts.limit === null || texts.remaining === null) return []
  const [limit, remaining] = [Number(texts.limit), Number(texts.remaining)]
  const resetMs = texts.resetMs ?? unknownResetMs
  if (!(limit > 0 && limit < Number.MAX_SAFE_INTEGER) || Number.isNaN(remaining) || resetMs > maxResetMs)
    return []
  return [{ measure, limit, remaining: Math.min(limit, Math.max(0, remaining)), resetMs }]
}

const maxTextLength = 40
const unitMs = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const partPattern = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g
const durationPattern = /^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/

/** Milliseconds from a duration such as `6m0s`, from seconds, or until a date. */
function parseReset(text: string | null, now: number): number | null {
  if (!text || text.length > maxTextLength) return null
  const seconds = Number(text)
  if (!Number.isNaN(seconds)) return Math.max(0, seconds * 1000)
  if (!durationPattern.test(text)) {
    const date = Date.parse(text)
    return Number.isNaN(date) ? null : Math.max(0, date - now)
  }
  let ms = 0
  for (const [, value, unit] of text.matchAll(partPattern))
    ms += Number(value) * unitMs[unit as keyof typeof unitMs]
  return ms
}
