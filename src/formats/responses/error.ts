import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type FailureKind, failureKindForStatus, type UpstreamFailure } from '../call/failure.ts'

/** Decodes the body of a response with a status of 400 or more. */
export function decodeError(status: number, body: unknown): UpstreamFailure {
  const outer = asObject(body)
  const error = asObject(outer?.error)
  const message =
    messageFieldOf(error) ??
    (asString(outer?.error) || undefined) ??
    messageFieldOf(outer) ??
    (asString(body) || undefined) ??
    `The provider returned status ${status} without a message.`
  return buildFailure(status, message, error ?? outer)
}

/** Decodes the error of an `error` event, a failed response or any other event of a stream. */
export function decodeFailure(error: JsonObject | undefined, fallbackMessage: string): UpstreamFailure {
  return buildFailure(null, messageFieldOf(error) ?? fallbackMessage, error)
}

export function malformedReplyFailure(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}

function buildFailure(
  status: number | null,
  message: string,
  error: JsonObject | undefined,
): UpstreamFailure {
  const code = toCodeText(error?.code)
  const failure: UpstreamFailure = {
    kind: classifyFailure(status, code, asString(error?.type), message),
    status,
    message,
  }
  if (code !== undefined) failure.code = code
  if (error) failure.detail = error
  const retryAfter = /try again in (\d+(?:\.\d+)?)(ms|s)\b/i.exec(message)
  if (retryAfter) failure.retryAfterMs = Math.ceil(Number(retryAfter[1]) * (retryAfter[2] === 's' ? 1000 : 1))
  return failure
}

function messageFieldOf(error: JsonObject | undefined): string | undefined {
  const message = asString(error?.message) || asString(error?.detail)
  return message || undefined
}

function toCodeText(code: unknown): string | undefined {
  return typeof code === 'number' ? String(code) : asString(code)
}

function classifyFailure(
  status: number | null,
  code: string | undefined,
  type: string | undefined,
  message: string,
): FailureKind {
  const knownKind =
    failureKindByCode.get(code ?? '') ??
    (contextLengthPattern.test(message) ? 'context_length_exceeded' : undefined)
  if (knownKind) return knownKind
  if (status !== null) return failureKindForStatus(status)
  const number = Number(code)
  if (number >= 400 && number < 600) return failureKindForStatus(number)
  return failureKindByCode.get(type ?? '') ?? 'provider_unavailable'
}

const contextLengthPattern = /maximum context length|context window|prompt is too long|input is too long/i

const contentPolicyViolation: FailureKind = 'content_policy_violation'

/** Kinds by code or, if a vendor sends none, by type. */
const failureKindByCode = new Map<string, FailureKind>([
  ['context_length_exceeded', 'context_length_exceeded'],
  ['string_above_max_length', 'context_length_exceeded'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['rate_limit_error', 'rate_limit_exceeded'],
  ['tokens', 'rate_limit_exceeded'],
  ['requests', 'rate_limit_exceeded'],
  ['insufficient_quota', 'payment_required'],
  ['billing_hard_limit_reached', 'payment_required'],
  ['billing_not_active', 'payment_required'],
  ['invalid_api_key', 'authentication'],
  ['authentication_error', 'authentication'],
  ['permission_error', 'permission_denied'],
  ['model_not_found', 'not_found'],
  ['not_found_error', 'not_found'],
  ['overloaded_error', 'provider_overloaded'],
  ['engine_overloaded', 'provider_overloaded'],
  ['slow_down', 'provider_overloaded'],
  ['timeout', 'timeout'],
  ['vector_store_timeout', 'timeout'],
  ['invalid_prompt', 'invalid_request'],
  ['invalid_image', 'invalid_request'],
  ['invalid_request_error', 'invalid_request'],
  ['content_policy_violation', contentPolicyViolation],
  ['content_filter', contentPolicyViolation],
  ['image_content_policy_violation', contentPolicyViolation],
  ['bio_policy', contentPolicyViolation],
  ['cyber_policy', contentPolicyViolation],
  ['misalignment_policy_violation', contentPolicyViolation],
])

/** The error code of a failed response, of which the format has few. */
export function encodeErrorCode(errorType: string): string {
  return errorCodeByType.get(errorType) ?? 'server_error'
}

const errorCodeByType = new Map([
  ['context_length_exceeded', 'invalid_prompt'],
  ['invalid_request', 'invalid_prompt'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['content_policy_violation', 'image_content_policy_violation'],
])

/** The message of an error in a stream. The message of an internal error is only logged. */
export function publicMessageOf(error: GatewayError): string {
  return error.row.status === 500 ? error.row.message : error.message
}
