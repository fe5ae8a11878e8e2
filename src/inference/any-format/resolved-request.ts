import type { ModelCall } from '../../formats/call/call.ts'
import type { ClientCodec } from '../../formats/wire-format.ts'
import type { KeyContext } from '../../gateway/account-cache.ts'
import type { IncomingRequest, RequestState, RoutingPlan } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'

/** A request of any task that was inspected but not refused, and how it would be sent. */
export interface ResolvedRequest {
  request: RequestState
  /** The prompt before anything was redacted. */
  original: ModelCall
  /** Excludes endpoints that cannot serve the request; throws if there is no other. */
  excludeUnfit: (plan: RoutingPlan) => RoutingPlan
  /** Encodes the request. Throws if the client requires every field and the endpoint would drop one. */
  translate: (candidate: Candidate) => unknown
  encodeError: ClientCodec['encodeError']
  /** The most that its plugins cost besides tokens, in nano-dollars. */
  fees?: bigint
}

/** A body whose format is not known yet. */
export interface AnyRequest extends Omit<IncomingRequest, 'format'> {
  /** Context that replaces that of the caller's key. */
  keyContext?: KeyContext
}
