import {
  type GatewayError,
  toChatErrorFields,
  toErrorMetadata,
  vendorFieldsOf,
} from '../../platform/errors/gateway-error.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  isBlank,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import { type FailureKind, failureKindForStatus, type UpstreamFailure } from '../call/failure.ts'

/** Longer messages are pages of HTML or echoes of the prompt. */
const maxMessageLength = 2000

const failureKindsByCode: [RegExp, FailureKind][] = [
  [/context_length|context_window|prompt_too_long|string_above_max_length/, 'context_length_exceeded'],
  [/content_policy|content_filter|contentfilter|moderation|sensitive|safety/, 'content_policy_violation'],
  [/insufficient_quota|insufficient_balance|billing|payment_required|credits?_exhausted/, 'payment_required'],
  [/rate_limit|too_many_requests|requests_limit|tokens_limit|resource_exhausted/, 'rate_limit_exceeded'],
  [/overloaded|capacity|unavailable|engine_overload/, 'provider_overloaded'],
  [/invalid_api_key|authentication|unauthorized|invalid_authentication/, 'authentication'],
  [/permission|forbidden|access_denied|unsupported_country/, 'permission_denied'],
  [/model_not_found|not_found|deploymentnotfound/, 'not_found'],
  [/timeout|timed_out|deadline/, 'timeout'],
  [/server_error|internal_error|internal_server|api_error/, 'provider_unavailable'],
  [/invalid_request|invalid_value|bad_request|validation/, 'invalid_request'],
]

const contextLengthPattern =
  /maximum context length|context (?:length|window|size|limit)|prompt is too long|input is too long|too many (?:input )?tokens|exceeds? the (?:model's )?(?:maximum|max|context)[^.]*tokens|input length and `max_tokens` exceed|reduce the length of|(?:prompt|input|messages?)[^.]{0,60} too long/i
const contentPolicyPattern =
  /content management policy|content policy|usage polic|safety system|flagged (?:as|by|for)/i

/** Decodes the body of a response with a status of 400 or more, in any vendor's form. */
export function decodeError(status: number, body: unknown): UpstreamFailure {
  return decodeFailure(extractError(body), status)
}

/** The part of a body that is the error. */
function extractError(body: unknown): unknown {
  if (Array.isArray(body)) return extractError(body[0])
  const object = asObject(body)
  if (!object) return body
  const inner = firstFilled(object.error, object.errors)
  if (isBlank(inner)) return object
  if (Array.isArray(inner)) return inner[0]
  if (typeof inner === 'string') return { ...object, message: asString(object.message) || inner }
  return asObject(inner) ?? object
}

/** Decodes a vendor's error. `status` is null inside a stream, where the error's code may be a status. */
export function decodeFailure(error: unknown, status: number | null): UpstreamFailure {
  const object = asObject(error)
  const message = (extractMessage(error) || 'The provider returned an error without a message.').slice(
    0,
    maxMessageLength,
  )
  const effectiveStatus = status !== null && status >= 400 ? status : extractStatus(object)
  const failure: UpstreamFailure = {
    kind: classifyFailure(object, message, effectiveStatus),
    status,
    message,
  }
  const code = extractCode(object)
  if (code !== undefined) failure.code = code
  if (object) failure.detail = object
  const retryAfter = asNumber(object?.retry_after) ?? asNumber(asObject(object?.metadata)?.retry_after)
  if (retryAfter !== undefined && retryAfter >= 0) failure.retryAfterMs = Math.round(retryAfter * 1000)
  return failure
}

/** The failure for a reply that is not in this format. */
export function malformedReplyFailure(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}

export const endedInErrorMessage = 'The provider ended its reply with an error.'

function extractMessage(error: unknown): string {
  if (typeof error === 'string') return error.trim()
  const object = asObject(error)
  if (!object) return ''
  for (const value of [object.message, object.detail, object.msg, object.error]) {
    const text = asString(value) ?? formatProblems(value)
    if (text) return text
    const inner = extractMessage(asObject(value))
    if (inner) return inner
  }
  return ''
}

/** Validation errors per field: `{loc, msg}`. */
function formatProblems(value: unknown): string | undefined {
  const problems = asObjects(value).map((problem) => {
    const steps = Array.isArray(problem.loc) ? problem.loc : []
    const path = steps.map((step) => asString(step) ?? asNumber(step) ?? '').join('.')
    return [path, asString(problem.msg) || asString(problem.message) || ''].filter(Boolean).join(': ')
  })
  return problems.length > 0 ? problems.join('; ') : undefined
}

function extractStatus(error: JsonObject | undefined): number | undefined {
  for (const value of [error?.code, error?.status, error?.status_code]) {
    const status = typeof value === 'string' ? Number(value) : asNumber(value)
    if (status !== undefined && status >= 400 && status < 600) return status
  }
  return undefined
}

function extractCode(error: JsonObject | undefined): string | undefined {
  const metadata = asObject(error?.metadata)
  for (const value of [metadata?.provider_code, error?.code, error?.type, error?.status]) {
    if (typeof value === 'string' && value !== '') return value
    if (typeof value === 'number') return String(value)
  }
  return undefined
}

function classifyFailure(
  error: JsonObject | undefined,
  message: string,
  status: number | undefined,
): FailureKind {
  const byCode = classifyCode(error)
  if (byCode === 'context_length_exceeded' || byCode === 'content_policy_violation') return byCode
  const mayBeInput = status === undefined || (status >= 400 && status < 500)
  if (mayBeInput && status !== 401 && status !== 429 && contextLengthPattern.test(message))
    return 'context_length_exceeded'
  if (mayBeInput && contentPolicyPattern.test(message)) return 'content_policy_violation'
  // Vendors send `invalid_request_error` and `server_error` with many statuses; the status is more specific.
  const isVague =
    byCode === 'invalid_request' ||
    byCode === 'provider_unavailable' ||
    // With a status of 400, what was not found is something that the request names.
    (byCode === 'not_found' && status === 400 && !/model|deployment/i.test(message))
  if (byCode !== undefined && (!isVague || status === undefined)) return byCode
  if (status !== undefined) return failureKindForStatus(status)
  return 'provider_unavailable'
}

function classifyCode(error: JsonObject | undefined): FailureKind | undefined {
  const metadata = asObject(error?.metadata)
  for (const value of [metadata?.error_type, error?.code, error?.type, error?.status]) {
    if (typeof value !== 'string') continue
    const code = value.toLowerCase().replaceAll(' ', '_')
    const match = failureKindsByCode.find(([pattern]) => pattern.test(code))
    if (match) return match[1]
  }
  return undefined
}

/** The error of a reply that has already started. The message of an internal error is only logged. */
export function encodeStreamError(error: GatewayError): JsonObject {
  const { status, message, type } = error.row
  return {
    ...vendorFieldsOf(error),
    code: status,
    message: status === 500 ? message : error.message,
    type,
    ...toChatErrorFields(error),
    metadata: toErrorMetadata(error),
    ...(error.availability && { availability: error.availability }),
  }
}

const statusByFailureKind: Partial<Record<FailureKind, number>> = {
  authentication: 401,
  payment_required: 402,
  permission_denied: 403,
  not_found: 404,
  payload_too_large: 413,
  unprocessable: 422,
  rate_limit_exceeded: 429,
  server: 500,
  provider_unavailable: 502,
  provider_overloaded: 503,
  timeout: 504,
}

/** The error of a choice in a whole reply that was cut off. */
export function encodeFailure(failure: UpstreamFailure): JsonObject {
  const metadata: JsonObject = { error_type: failure.kind }
  if (failure.code !== undefined) metadata.provider_code = failure.code
  return { code: statusByFailureKind[failure.kind] ?? 400, message: failure.message, metadata }
}
