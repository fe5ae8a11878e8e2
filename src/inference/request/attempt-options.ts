import {
  type AttemptPolicy,
  combineTimeouts,
  compilePolicy,
  compileTimeouts,
} from '../../catalog/attempt-policy.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'

/** What a request says about its attempts. */
export interface AttemptOptions extends AttemptPolicy {
  /** Milliseconds for all of them together; null if the request does not limit them. */
  timeLimitMs: number | null
}

export const timeoutHeader = 'x-headgate-timeout'

/** Reads the preferences of a request and its header; the strictest timeouts of both apply. */
export function parseAttemptOptions(
  { timeout, retry, hedge }: ProviderPreferences,
  header: string | null,
): AttemptOptions | null {
  const policy = compilePolicy({
    ...(timeout != null && { timeout }),
    ...(retry != null && { retry }),
    ...(hedge != null && { hedge }),
  })
  const ofHeader = header === null ? null : compileTimeouts(parseTimeoutHeader(header))
  const timeouts = combineTimeouts(policy?.timeouts ?? null, ofHeader)
  if (!timeouts && !policy) return null
  const { total = Number.POSITIVE_INFINITY } = timeouts ?? {}
  return {
    // The time for all attempts is not that of each.
    timeouts: timeouts && { ...timeouts, total: Number.POSITIVE_INFINITY },
    retry: policy?.retry ?? null,
    hedge: policy?.hedge ?? null,
    timeLimitMs: Number.isFinite(total) ? total : null,
  }
}

const timeoutNames = ['first_byte', 'first_content', 'idle', 'total'] as const
type HeaderTimeouts = Partial<Record<(typeof timeoutNames)[number], number>>

const timePattern = /^(?:(\w+)=)?(\d{1,8}(?:\.\d{1,6})?)(ms|s)?$/
const maxHeaderLength = 200
const maxSeconds = 86_400

/** Parses seconds for the whole request, or `first_byte=2s, first_content=10s, idle=500ms, total=60s`. */
function parseTimeoutHeader(header: string): HeaderTimeouts {
  const timeouts: HeaderTimeouts = {}
  for (const part of header.slice(0, maxHeaderLength).split(',')) {
    const [, named = 'total', value, unit] = timePattern.exec(part.trim()) ?? []
    const name = timeoutNames.find((known) => known === named)
    const seconds = Number(value) / (unit === 'ms' ? 1000 : 1)
    if (!name || !(seconds > 0 && seconds <= maxSeconds) || timeouts[name] !== undefined)
      throw invalidFieldError(
        timeoutHeader,
        'must be seconds such as 30, or a list such as first_byte=2s, first_content=10s, idle=5s, total=60s',
      )
    timeouts[name] = seconds
  }
  return timeouts
}
