import { combineTimeouts, type Timeouts } from '../../catalog/attempt-policy.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { TimeLimits, UpstreamExchange } from './exchange.ts'

/** Applies the timeouts of an endpoint and of a request to an attempt that begins now. The strictest ones count. */
export function limitTime(
  { timer, settings }: Gateway,
  { options, work, startedAt, timeLimitMs }: RequestState,
  { endpoint }: Candidate,
  exchange: UpstreamExchange,
): void {
  const now = timer.now()
  if (timeLimitMs !== null) exchange.endDueAt = now + timeLimitMs - (performance.now() - startedAt)
  const declared = endpoint.attempts?.timeouts ?? null
  const requested = options.attempts?.timeouts ?? null
  const timeouts = combineTimeouts(declared, requested)
  if (!timeouts) return
  exchange.limits = restrict(settings.limits, timeouts)
  exchange.contentDueAt = now + timeouts.first_content
  // The exchange of the first turn lasts as long as the request.
  if (!work?.tools) exchange.endDueAt = Math.min(exchange.endDueAt, now + timeouts.total)
  if (!requested) return
  const { first_byte, first_content, idle, whole_reply } = restrict(settings.limits, declared)
  exchange.isIdleRequested = requested.idle < idle
  const untilContent = Math.min(first_content, declared?.first_content ?? first_content)
  exchange.patientUntil = now + Math.min(first_byte, untilContent, idle, whole_reply)
}

function restrict(limits: TimeLimits, timeouts: Timeouts | null): TimeLimits {
  if (!timeouts) return limits
  return {
    first_byte: Math.min(limits.first_byte, timeouts.first_byte),
    first_content: limits.first_content,
    idle: Math.min(limits.idle, timeouts.idle),
    whole_reply: Math.min(limits.whole_reply, timeouts.total),
    total: limits.total,
  }
}

/** Milliseconds left for all attempts of a request together. */
export function timeLeft({ settings }: Gateway, { startedAt, timeLimitMs }: RequestState): number {
  const { total } = settings.limits
  return Math.min(timeLimitMs ?? total, total) - (performance.now() - startedAt)
}
