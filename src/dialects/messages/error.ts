import { type FailureKind, kindOfStatus, type UpstreamFailure } from '../../call/failure.ts'
import { envelope, explainedError, type GatewayError } from '../../errors.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'

/** The body of an error. It is the envelope of every other operation too: `error.code` is the status. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...rest } = envelope(error, requestId)
  return {
    type: 'error',
    error: { ...inner, type: typeOf(error), error_type: inner.metadata.error_type },
    request_id: requestId,
    ...rest,
  }
}

/** Clients of this format go by it: the vendor's own where it said one. */
function typeOf({ vendor, row }: GatewayError): string {
  return textOf(vendor?.type) ?? row.type
}

/** The event that ends a stream which broke off. */
export function errorEvent(error: GatewayError, requestId: string): string {
  const { error: told } = envelope(error, requestId)
  const inner = { ...told, type: typeOf(error), error_type: told.metadata.error_type }
  const event = { type: 'error', error: inner, ...explainedError(error) }
  return `event: error\ndata: ${JSON.stringify(event)}\n\n`
}

const kindOfType = new Map<string, FailureKind>([
  ['authentication_error', 'authentication'],
  ['permission_error', 'permission_denied'],
  ['billing_error', 'payment_required'],
  ['rate_limit_error', 'rate_limit_exceeded'],
  ['overloaded_error', 'provider_overloaded'],
  ['request_too_large', 'payload_too_large'],
  ['not_found_error', 'not_found'],
  ['timeout_error', 'timeout'],
])

/** What an error of type `invalid_request_error` really is, by the vendor's words. */
const telling: [RegExp, FailureKind][] = [
  [
    /(prompt|input) is too long|exceeds? (the )?(context|maximum context)|context window/i,
    'context_length_exceeded',
  ],
  [/^max_tokens: \d+ > \d+/i, 'max_tokens_exceeded'],
  [/credit balance is too low|spend(ing)? limit|usage limits/i, 'payment_required'],
  [/content filtering policy|usage policy/i, 'content_policy_violation'],
]

export function decodeError(status: number, body: unknown): UpstreamFailure {
  const given = objectOf(Array.isArray(body) ? body[0] : body)
  const error = objectOf(given?.error) ?? given
  const failure = failureOf(error ?? {}, status)
  if (!error) failure.message = typeof body === 'string' ? body.trim().slice(0, longestText) : ''
  return failure
}

/** A page of a proxy in between says all it has to say at its beginning. */
const longestText = 500

/** From an `error` object; `status` is null inside a stream. */
export function failureOf(error: JsonObject, status: number | null): UpstreamFailure {
  const type = textOf(error.type)
  const message = textOf(error.message) ?? type ?? ''
  const failure: UpstreamFailure = { kind: kindOf(type, message, status), status, message, detail: error }
  if (type !== undefined) failure.code = type
  return failure
}

function kindOf(type: string | undefined, message: string, status: number | null): FailureKind {
  const named = kindOfType.get(type ?? '')
  if (named) return named
  const asked = type === 'invalid_request_error' || status === 400 || status === 413
  const told = asked ? telling.find(([words]) => words.test(message))?.[1] : undefined
  if (told) return told
  if (status !== null) return kindOfStatus(status)
  return type === 'invalid_request_error' ? 'invalid_request' : 'provider_unavailable'
}

/** A reply that is none. */
export function brokenReply(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}
