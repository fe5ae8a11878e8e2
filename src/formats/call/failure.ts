import type { JsonObject } from '../../platform/json/json-values.ts'

/** The public values of `error_type`. */
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

const kindTexts: Record<FailureKind, string> = {
  context_length_exceeded: 'The prompt is longer than the context of the model.',
  max_tokens_exceeded: 'The requested output is longer than the model allows.',
  authentication: 'The provider rejected the credential.',
  permission_denied: 'The provider does not allow this with the credential.',
  payment_required: 'The account at the provider has no credit left.',
  rate_limit_exceeded: 'The rate limit at the provider is reached.',
  provider_overloaded: 'The provider is overloaded.',
  provider_unavailable: 'The provider could not be reached, or failed.',
  invalid_request: 'The provider rejected the request as invalid.',
  not_found: 'The provider does not know the model or the address.',
  payload_too_large: 'The request is too large for the provider.',
  unprocessable: 'The provider could not process the request.',
  content_policy_violation: 'The provider rejected the content of the request or reply.',
  refusal: 'The model refused to reply.',
  server: 'The provider failed.',
  timeout: 'The provider did not respond in time.',
}

/** A description for places where the vendor's message must not be shown or stored. */
export function describeFailureKind(kind: FailureKind): string {
  return kindTexts[kind]
}

/** A failure of an upstream, before or during its reply. */
export interface UpstreamFailure {
  kind: FailureKind
  /** HTTP status of the upstream's response; null when there was none, or when the failure came inside a stream. */
  status: number | null
  /** The vendor's message, without secrets. */
  message: string
  /** The vendor's error code. */
  code?: string
  /** The vendor's error object, unmodified. */
  detail?: JsonObject
  /** The vendor's retry delay, if it gives one. */
  retryAfterMs?: number
  /** The provider's delay was longer than the accepted maximum: after the cooldown a single request probes it. */
  isRetryAfterCut?: boolean
}

/** The failure kind of a status, when the vendor's body is no more specific. */
export function failureKindForStatus(status: number): FailureKind {
  return failureKindByStatus.get(status) ?? (status >= 500 ? 'provider_unavailable' : 'invalid_request')
}

const failureKindByStatus = new Map<number, FailureKind>([
  [400, 'invalid_request'],
  [401, 'authentication'],
  [402, 'payment_required'],
  [403, 'permission_denied'],
  [404, 'not_found'],
  // The endpoint is gone or was moved, which no other request to it would fix.
  [405, 'not_found'],
  [408, 'timeout'],
  [410, 'not_found'],
  [413, 'payload_too_large'],
  [421, 'provider_unavailable'],
  [422, 'unprocessable'],
  [423, 'provider_unavailable'],
  // Failed dependency: a model behind the provider failed.
  [424, 'provider_unavailable'],
  [426, 'provider_unavailable'],
  [429, 'rate_limit_exceeded'],
  [451, 'permission_denied'],
  // No capacity left in a service tier.
  [498, 'provider_overloaded'],
  [503, 'provider_overloaded'],
  [504, 'timeout'],
  [524, 'timeout'],
  [529, 'provider_overloaded'],
])
