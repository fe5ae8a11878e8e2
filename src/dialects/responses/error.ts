import { type FailureKind, kindOfStatus, type UpstreamFailure } from '../../call/failure.ts'
import type { GatewayError } from '../../errors.ts'
import { type JsonObject, objectOf, textOf } from '../../lib/loose.ts'

/** An answer with a status of 400 or more. */
export function decodeError(status: number, body: unknown): UpstreamFailure {
  const outer = objectOf(body)
  const inner = objectOf(outer?.error)
  const message =
    messageOf(inner) ?? textOf(outer?.error) ?? messageOf(outer) ?? textOf(body) ?? `status ${status}`
  return failure(status, message, inner ?? outer)
}

/** What an `error` event, a failed response or an `error` object in a stream says. */
export function failureOf(error: JsonObject | undefined, otherwise: string): UpstreamFailure {
  return failure(null, messageOf(error) ?? otherwise, error)
}

export function brokenReply(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}

function failure(status: number | null, message: string, error: JsonObject | undefined): UpstreamFailure {
  const code = wordOf(error?.code)
  const found: UpstreamFailure = { kind: kindOf(status, code, textOf(error?.type), message), status, message }
  if (code !== undefined) found.code = code
  if (error) found.detail = error
  const wait = /try again in (\d+(?:\.\d+)?)(ms|s)\b/i.exec(message)
  if (wait) found.retryAfterMs = Math.ceil(Number(wait[1]) * (wait[2] === 's' ? 1000 : 1))
  return found
}

function messageOf(error: JsonObject | undefined): string | undefined {
  const message = textOf(error?.message) ?? textOf(error?.detail)
  return message === '' ? undefined : message
}

function wordOf(code: unknown): string | undefined {
  return typeof code === 'number' ? String(code) : textOf(code)
}

function kindOf(
  status: number | null,
  code: string | undefined,
  type: string | undefined,
  message: string,
): FailureKind {
  const said = kinds.get(code ?? '') ?? (tooLong.test(message) ? 'context_length_exceeded' : undefined)
  if (said) return said
  if (status !== null) return kindOfStatus(status)
  const number = Number(code)
  if (number >= 400 && number < 600) return kindOfStatus(number)
  return kinds.get(type ?? '') ?? 'provider_unavailable'
}

const tooLong = /maximum context length|context window|prompt is too long|input is too long/i

const policy: FailureKind = 'content_policy_violation'

/** By code or, where a vendor sends none, by type. */
const kinds = new Map<string, FailureKind>([
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
  ['content_policy_violation', policy],
  ['content_filter', policy],
  ['image_content_policy_violation', policy],
  ['bio_policy', policy],
  ['cyber_policy', policy],
  ['misalignment_policy_violation', policy],
])

/** The code a failed response carries: the format has few. */
export function responseErrorCode(errorType: string): string {
  return codes.get(errorType) ?? 'server_error'
}

const codes = new Map([
  ['context_length_exceeded', 'invalid_prompt'],
  ['invalid_request', 'invalid_prompt'],
  ['rate_limit_exceeded', 'rate_limit_exceeded'],
  ['content_policy_violation', 'image_content_policy_violation'],
])

/** What a stream may say of an error: there is no request id in it, so a 500 stays generic. */
export function publicMessage(error: GatewayError): string {
  return error.row.status === 500 ? error.row.message : error.message
}
