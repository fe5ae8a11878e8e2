import type { OwnKey } from '../account/own-keys.ts'
import type { Endpoint, Model } from '../catalog/model.ts'

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
  why: Why
}

export function candidateOf(model: Model, endpoint: Endpoint, ownKey: OwnKey | null): Candidate {
  return {
    model,
    endpoint,
    ownKey,
    id: ownKey ? `${endpoint.id} ${ownKey.id}` : endpoint.id,
    why: ownKey ? (ownKey.isFallback ? 'fallback_key' : 'own_key') : 'balanced',
  }
}
