import type { ByokKey } from '../../catalog/byok-keys.ts'
import type { EndpointHealth } from '../../catalog/health/health.ts'
import { healthIdOf } from '../../catalog/health/health-id.ts'
import type { Endpoint, Model } from '../../catalog/model.ts'

/** The reason for a candidate's rank. */
export type RankingReason =
  | 'own_key'
  | 'fallback_key'
  | 'order'
  | 'sticky'
  | 'balanced'
  | 'price'
  | 'throughput'
  | 'latency'
  | 'exacto'
  | 'poor_tool_calls'
  | 'unstable'
  | 'too_slow'
  | 'ejected'

/** One endpoint with one credential: what a request can be sent to. */
export interface Candidate {
  model: Model
  endpoint: Endpoint
  /** The BYOK key that pays the provider; null: the installation's credential. */
  byokKey: ByokKey | null
  /** The id of its health: an endpoint may work with one key and fail with another. */
  id: string
  /** Measured from live traffic; null: no request has been sent there. */
  health: EndpointHealth | null
  why: RankingReason
  /** The probability that load balancing by price picks it first for its model; null where it is not balanced. */
  share: number | null
}

export function createCandidate(model: Model, endpoint: Endpoint, byokKey: ByokKey | null): Candidate {
  return {
    model,
    endpoint,
    byokKey,
    id: healthIdOf(endpoint.id, byokKey?.id ?? null),
    health: null,
    why: byokKey ? (byokKey.isFallback ? 'fallback_key' : 'own_key') : 'balanced',
    share: null,
  }
}
