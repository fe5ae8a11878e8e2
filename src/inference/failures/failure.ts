import type { FailureKind, UpstreamFailure } from '../../formats/call/failure.ts'
import type { FallbackReason } from '../../formats/schema/fallbacks.ts'
import { type Availability, GatewayError } from '../../platform/errors/gateway-error.ts'
import { type ErrorCode, errorTable } from '../../platform/errors/table.ts'
import type { Candidate } from '../routing/candidate.ts'
import { mapDetail, redactAccounts } from './redact-secrets.ts'

/** A failed attempt, for records and for the error of the client. */
export interface FailedAttempt {
  provider: string
  endpoint: string
  model: string
  /** The BYOK key that was used. */
  byokKeyId: string | null
  failure: UpstreamFailure
  /** Whether the request was passed through: the upstream uses the client's format. */
  isPassThrough: boolean
  /** Milliseconds of the monotonic clock. */
  startedAt: number
  endedAt: number
  /** The reason for which another model was tried after it. */
  fallback?: FallbackReason
}

/** Longer messages are web pages or echoes of the prompt. */
const maxMessageLength = 2000

export function toFailedAttempt(
  { endpoint, model, byokKey }: Candidate,
  { detail, ...failure }: UpstreamFailure,
  startedAt: number,
  isPassThrough: boolean,
): FailedAttempt {
  return {
    provider: endpoint.provider.name,
    endpoint: endpoint.tag,
    model: model.id,
    byokKeyId: byokKey?.id ?? null,
    failure: {
      ...failure,
      message: redactAccounts(failure.message.slice(0, maxMessageLength)),
      ...(detail && isPassThrough && { detail: mapDetail(detail, redactAccounts) }),
    },
    isPassThrough,
    startedAt,
    endedAt: performance.now(),
  }
}

/** Problems with the operator's account at the provider are reported to clients as failures of the provider. */
const errorCodes: Record<FailureKind, ErrorCode> = {
  context_length_exceeded: 'upstream_rejected',
  max_tokens_exceeded: 'upstream_rejected',
  authentication: 'upstream_failed',
  permission_denied: 'upstream_failed',
  payment_required: 'upstream_failed',
  rate_limit_exceeded: 'upstream_rate_limited',
  provider_overloaded: 'upstream_overloaded',
  provider_unavailable: 'upstream_failed',
  invalid_request: 'upstream_rejected',
  not_found: 'upstream_failed',
  payload_too_large: 'upstream_too_large',
  unprocessable: 'upstream_unprocessable',
  content_policy_violation: 'upstream_rejected',
  refusal: 'upstream_rejected',
  server: 'upstream_failed',
  timeout: 'upstream_timeout',
}

/** Problems with the operator's account, which are not for clients. */
const accountFaults: ReadonlySet<FailureKind> = new Set([
  'authentication',
  'permission_denied',
  'payment_required',
])

/** Caused by the request itself: other endpoints of the model would fail too, another model may not. */
const requestFaults: ReadonlySet<FailureKind> = new Set([
  'context_length_exceeded',
  'max_tokens_exceeded',
  'invalid_request',
  'payload_too_large',
  'unprocessable',
  'content_policy_violation',
  'refusal',
])

export function isRequestFault({ kind }: UpstreamFailure): boolean {
  return requestFaults.has(kind)
}

/** The provider's status, or that of the error code for this kind of failure. */
export function statusFor({ status, kind }: UpstreamFailure): number {
  return status ?? errorTable[errorCodes[kind]].status
}

/** Whether the code is a word: some providers send a sentence. */
export function isPlainCode(code: string | undefined): code is string {
  return code !== undefined && /^[\w.-]{1,64}$/.test(code)
}

/** The error of the last attempt; earlier ones are listed in its metadata. */
export function toClientError(attempts: readonly FailedAttempt[]): GatewayError {
  const last = attempts.at(-1)
  if (!last) return new GatewayError('upstream_failed')
  const { failure, provider } = last
  const code = errorCodes[failure.kind]
  // The provider's error object only makes sense to a client of the same format, when no other provider was tried.
  const isDirect = last.isPassThrough && attempts.every((attempt) => attempt.provider === provider)
  const isHidden = accountFaults.has(failure.kind)
  const retryAfter = computeRetrySeconds(attempts)
  return new GatewayError(code, {
    ...(!isHidden && failure.message && { message: failure.message }),
    metadata: {
      error_type: isHidden ? 'provider_unavailable' : failure.kind,
      provider_name: provider,
      ...(isPlainCode(failure.code) && !isHidden && { provider_code: failure.code }),
      ...(attempts.length > 1 && { previous_errors: attempts.slice(0, -1).map(summarizeAttempt) }),
    },
    ...(failure.detail && isDirect && !isHidden && { vendor: failure.detail }),
    ...buildAvailability(attempts, retryAfter),
    headers: retryAfter === null ? {} : { 'retry-after': String(retryAfter) },
    cause: failure,
  })
}

const transientKinds: ReadonlySet<FailureKind> = new Set([
  'provider_overloaded',
  'provider_unavailable',
  'server',
  'timeout',
])

/** Describes the availability, if every attempt was rate limited or every failure is transient. */
function buildAvailability(
  attempts: readonly FailedAttempt[],
  retryAfter: number | null,
): { availability?: Availability } {
  const isLimited = attempts.every(({ failure }) => failure.kind === 'rate_limit_exceeded')
  if (!isLimited && !attempts.every(({ failure }) => transientKinds.has(failure.kind))) return {}
  return {
    availability: {
      code: isLimited ? 'capacity_exhausted' : 'temporarily_unavailable',
      retryable: true,
      requested_models: [...new Set(attempts.map(({ model }) => model))],
      ...(retryAfter !== null && { retry_after: retryAfter }),
      affected_providers: [...new Set(attempts.map(({ endpoint }) => endpoint.split('/')[0] ?? ''))],
    },
  }
}

function summarizeAttempt({ provider, failure }: FailedAttempt) {
  return { provider, code: failure.kind, status: failure.status }
}

/** Computes the seconds until a retry; null unless every provider that was tried sent a hint. */
function computeRetrySeconds(attempts: readonly FailedAttempt[]): number | null {
  const hints = attempts.map(({ failure }) => failure.retryAfterMs)
  if (hints.some((hint) => hint === undefined)) return null
  return Math.max(1, Math.ceil(Math.min(...hints.map((hint) => hint ?? 0)) / 1000))
}
