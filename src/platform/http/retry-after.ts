/** Longer values are capped. */
const maxRetryAfterMs = 24 * 60 * 60_000

/** The wait in milliseconds, from a header in milliseconds, seconds or as a date. */
export function parseRetryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = Number(headers.get('retry-after-ms') || headers.get('x-ms-retry-after-ms') || Number.NaN)
  if (ms >= 0) return Math.min(ms, maxRetryAfterMs)
  const text = headers.get('retry-after')
  if (!text) return undefined
  const seconds = Number(text)
  // Require the name of a month: Date.parse accepts nearly anything.
  const date = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  const waitMs = Number.isNaN(seconds) ? date - now : seconds * 1000
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), maxRetryAfterMs)
}
