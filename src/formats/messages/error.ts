import { type GatewayError, toErrorEnvelope, toServiceMetadata } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type FailureKind, failureKindForStatus, type UpstreamFailure } from '../call/failure.ts'
import { errorObjectOf } from '../error-object.ts'

/** The vendor's error body, extended with the API's error envelope: `error.code` is the HTTP status. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...rest } = toErrorEnvelope(error, requestId)
  return {
    type: 'error',
    error: { ...inner, type: errorTypeOf(error), error_type: inner.metadata.error_type },
    request_id: requestId,
    ...rest,
  }
}

/** The upstream's own error type if it sent one, because clients of this format branch on it. */
function errorTypeOf({ vendor, row }: GatewayError): string {
  return asString(vendor?.type) ?? row.type
}

/** The event that ends a failed stream. */
export function encodeErrorEvent(error: GatewayError, requestId: string): string {
  const { error: details } = toErrorEnvelope(error, requestId)
  const inner = { ...details, type: errorTypeOf(error), error_type: details.metadata.error_type }
  const event = { type: 'error', error: inner, finish_reason: 'error', ...toServiceMetadata(error) }
  return `event: error\ndata: ${JSON.stringify(event)}\n\n`
}

const failureKindsByType = new Map<string, FailureKind>([
  ['authentication_error', 'authentication'],
  ['permission_error', 'permission_denied'],
  ['billing_error', 'payment_required'],
  ['rate_limit_error', 'rate_limit_exceeded'],
  ['overloaded_error', 'provider_overloaded'],
  ['request_too_large', 'payload_too_large'],
  ['not_found_error', 'not_found'],
  ['timeout_error', 'timeout'],
])

/** Classifies errors of type `invalid_request_error` by the vendor's message. */
const messagePatterns: [RegExp, FailureKind][] = [
  [
    /(prompt|input) is too long|exceeds? (the )?(context|maximum context)|context window/i,
    'context_length_exceeded',
  ],
  [/^max_tokens: \d+ > \d+/i, 'max_tokens_exceeded'],
  [/credit balance is too low|spend(ing)? limit|usage limits/i, 'payment_required'],
  [/content filtering policy|usage policy/i, 'content_policy_violation'],
]

export function decodeError(status: number, body: unknown): UpstreamFailure {
  const payload = asObject(Array.isArray(body) ? body[0] : body)
  const error = (payload && errorObjectOf(payload)) ?? payload
  const failure = decodeFailure(error ?? {}, status)
  if (!error) failure.message = typeof body === 'string' ? body.trim().slice(0, maxMessageLength) : ''
  return failure
}

/** Characters of an HTML error page of a proxy, of which the beginning is enough. */
const maxMessageLength = 500

/** Decodes an `error` object; `status` is null inside a stream. */
export function decodeFailure(error: JsonObject, status: number | null): UpstreamFailure {
  const type = asString(error.type)
  const message = asString(error.message) || asString(error.detail) || type || ''
  const failure: UpstreamFailure = {
    kind: classifyFailure(type, message, status),
    status,
    message,
    detail: error,
  }
  if (type !== undefined) failure.code = type
  return failure
}

function classifyFailure(type: string | undefined, message: string, status: number | null): FailureKind {
  const kindByType = failureKindsByType.get(type ?? '')
  if (kindByType) return kindByType
  const isRequestError = type === 'invalid_request_error' || status === 400 || status === 413
  const kindByMessage = isRequestError
    ? messagePatterns.find(([pattern]) => pattern.test(message))?.[1]
    : undefined
  if (kindByMessage) return kindByMessage
  if (status !== null) return failureKindForStatus(status)
  return type === 'invalid_request_error' ? 'invalid_request' : 'provider_unavailable'
}

/** The upstream sent something that is not a reply. */
export function malformedReplyFailure(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}
