import type { ByokKey } from '../account/byok-keys.ts'
import type { Endpoint, Model } from '../catalogue/model.ts'
import { type EndpointHealth, healthIdOf } from './health.ts'

/** Why a candidate stands where it stands. */
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
  /** The key of the caller's own that the provider is paid with; null: the installation's. */
  byokKey: ByokKey | null
  /** What its health is known by: an endpoint may work with one key and not with another. */
  id: string
  /** What traffic has shown of it; null: nobody has tried it. */
  health: EndpointHealth | null
  why: RankingReason
  /** How often the draw by price puts it before the others of its model; null where nothing is drawn. */
  share: number | null
}

export function createCandidate(
  model: Model,
  endpoint: Endpoint,
  byokKey: ByokKey | null,
  health: EndpointHealth | null = null,
): Candidate {
  return {
    model,
    endpoint,
    byokKey,
    id: healthIdOf(endpoint.id, byokKey?.id ?? null),
    health,
    why: byokKey ? (byokKey.isFallback ? 'fallback_key' : 'own_key') : 'balanced',
    share: null,
  }
}
