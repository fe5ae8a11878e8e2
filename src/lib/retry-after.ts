/** Longer hints are not believed. */
const maxRetryAfterMs = 24 * 60 * 60_000

/** When to come back, as servers say it: milliseconds, seconds, or a date. */
export function parseRetryAfter(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = Number(headers.get('retry-after-ms') || headers.get('x-ms-retry-after-ms') || Number.NaN)
  if (ms >= 0) return Math.min(ms, maxRetryAfterMs)
  const text = headers.get('retry-after')
  if (!text) return undefined
  const seconds = Number(text)
  // A date has the name of a month in it: the runtime would make one of nearly anything.
  const date = /[A-Za-z]{3}/.test(text) ? Date.parse(text) : Number.NaN
  const waitMs = Number.isNaN(seconds) ? date - now : seconds * 1000
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(0, waitMs), maxRetryAfterMs)
}
