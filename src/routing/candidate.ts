import type { OwnKey } from '../account/own-keys.ts'
import type { Endpoint, Model } from '../catalog/model.ts'
import { type EndpointHealth, healthIdOf } from './health.ts'

/** Why a candidate stands where it stands. */
export type Why =
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
  ownKey: OwnKey | null
  /** What its health is known by: an endpoint may work with one key and not with another. */
  id: string
  /** What traffic has shown of it; null: nobody has tried it. */
  health: EndpointHealth | null
  why: Why
  /** How often the draw by price puts it before the others of its model; null where nothing is drawn. */
  share: number | null
}

export function candidateOf(
  model: Model,
  endpoint: Endpoint,
  ownKey: OwnKey | null,
  health: EndpointHealth | null = null,
): Candidate {
  return {
    model,
    endpoint,
    ownKey,
    id: healthIdOf(endpoint.id, ownKey?.id ?? null),
    health,
    why: ownKey ? (ownKey.isFallback ? 'fallback_key' : 'own_key') : 'balanced',
    share: null,
  }
}
