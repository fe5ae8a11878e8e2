import type { Priority } from '../../formats/vocabulary.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { Candidate } from '../routing/candidate.ts'

/**
 * Why a request does not wait for the rate of a provider: it has waited too long, the queue is full, its key has its
 * share of the queue, or a request of a higher priority has taken its place.
 */
export type RefusalCause = 'timeout' | 'queue_full' | 'key_share' | 'displaced'

interface RefusedRequest {
  candidate: Candidate
  priority: Priority
  cause: RefusalCause
  waitedMs: number
  /** Until there is probably room. */
  waitMs: number
}

const causeTexts: Record<RefusalCause, string> = {
  timeout: 'there was no room in time',
  queue_full: 'too many requests wait for it',
  key_share: 'too many requests of this key wait for it',
  displaced: 'a request of a higher priority has taken the place of this one in the queue',
}

/** Longer than the window of any rate that is counted. */
const maxSeconds = 300

export function rateUsedError({
  candidate,
  priority,
  cause,
  waitedMs,
  waitMs,
}: RefusedRequest): GatewayError {
  const { endpoint, model } = candidate
  const seconds = Math.min(maxSeconds, Math.max(1, Math.ceil(waitMs / 1000)))
  return new GatewayError('provider_rate_used', {
    message: `The rate of ${endpoint.provider.name} for ${model.id} is used up to the share of requests with priority ${priority}, and ${causeTexts[cause]}. Retry after ${seconds} s.`,
    metadata: {
      provider: endpoint.provider.slug,
      endpoint: endpoint.tag,
      priority,
      cause,
      waited_ms: Math.round(waitedMs),
    },
    headers: { 'retry-after': String(seconds) },
  })
}
