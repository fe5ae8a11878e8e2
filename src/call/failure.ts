import type { JsonObject } from '../lib/json-values.ts'

/** The public vocabulary of `error_type`. */
export type FailureKind =
  | 'context_length_exceeded'
  | 'max_tokens_exceeded'
  | 'authentication'
  | 'permission_denied'
  | 'payment_required'
  | 'rate_limit_exceeded'
  | 'provider_overloaded'
  | 'provider_unavailable'
  | 'invalid_request'
  | 'not_found'
  | 'payload_too_large'
  | 'unprocessable'
  | 'content_policy_violation'
  | 'refusal'
  | 'server'
  | 'timeout'

/** How an upstream failed, before or during its reply. */
export interface UpstreamFailure {
  kind: FailureKind
  /** HTTP status of the upstream's answer; null when there was none, or when it came inside a stream. */
  status: number | null
  /** The vendor's words. Never ours, never with a secret. */
  message: string
  /** The vendor's own code. */
  code?: string
  /** The vendor's own error object, as it came. */
  detail?: JsonObject
  /** When to try again, where the vendor says so. */
  retryAfterMs?: number
  /** The provider asked for a longer wait than is believed: whether it is back is tried with one request. */
  isRetryAfterCut?: boolean
}

/** What a status means when the vendor's body says nothing better. */
export function failureKindForStatus(status: number): FailureKind {
  return failureKindByStatus.get(status) ?? (status >= 500 ? 'provider_unavailable' : 'invalid_request')
}

const failureKindByStatus = new Map<number, FailureKind>([
  [400, 'invalid_request'],
  [401, 'authentication'],
  [402, 'payment_required'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  // The address, or what was there, is not there any more: no fault of the request.
  [405, 'not_found'],
  [408, 'timeout'],
  [410, 'not_found'],
  [413, 'payload_too_large'],
  [421, 'provider_unavailable'],
  [422, 'unprocessable'],
  [423, 'provider_unavailable'],
  // A model behind the provider failed.
  [424, 'provider_unavailable'],
  [426, 'provider_unavailable'],
  [429, 'rate_limit_exceeded'],
  [451, 'permission_denied'],
  // No room in a lane.
  [498, 'provider_overloaded'],
  [503, 'provider_overloaded'],
  [504, 'timeout'],
  [524, 'timeout'],
  [529, 'provider_overloaded'],
])
