import { type FailureKind, kindOfStatus, type UpstreamFailure } from '../../call/failure.ts'
import { type GatewayError, matchedMembers, metadataOf, vendorFields } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'

/** Longer messages are pages of HTML or echoes of the prompt. */
const longestMessage = 2000

const kindsByCode: [RegExp, FailureKind][] = [
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

const tooLong =
  /maximum context length|context (?:length|window|size|limit)|prompt is too long|input is too long|too many (?:input )?tokens|exceeds? the (?:model's )?(?:maximum|max|context)[^.]*tokens|input length and `max_tokens` exceed|reduce the length of|(?:prompt|input|messages?)[^.]{0,60} too long/i
const unsafe = /content management policy|content policy|usage polic|safety system|flagged (?:as|by|for)/i

/** The body of an answer with a status of 400 or more, in whichever of the vendors' forms. */
export function decodeError(status: number, body: unknown): UpstreamFailure {
  return failureOf(errorIn(body), status)
}

/** The part of a body that is the error. */
function errorIn(body: unknown): unknown {
  if (Array.isArray(body)) return errorIn(body[0])
  const object = objectOf(body)
  if (!object) return body
  const inner = object.error ?? object.errors
  if (Array.isArray(inner)) return inner[0]
  if (typeof inner === 'string') return { ...object, message: textOf(object.message) ?? inner }
  return objectOf(inner) ?? object
}

/** A vendor's error as a failure. `status` is null inside a stream: then its own code may be one. */
export function failureOf(error: unknown, status: number | null): UpstreamFailure {
  const object = objectOf(error)
  const message = (messageOf(error) || 'The upstream gave no reason.').slice(0, longestMessage)
  const told = status !== null && status >= 400 ? status : statusIn(object)
  const failure: UpstreamFailure = { kind: kindOf(object, message, told), status, message }
  const code = codeOf(object)
  if (code !== undefined) failure.code = code
  if (object) failure.detail = object
  const wait = numberOf(object?.retry_after) ?? numberOf(objectOf(object?.metadata)?.retry_after)
  if (wait !== undefined && wait >= 0) failure.retryAfterMs = Math.round(wait * 1000)
  return failure
}

/** A reply that is not of this format. */
export function malformed(message: string): UpstreamFailure {
  return { kind: 'provider_unavailable', status: null, message }
}

export const endedInError = 'The upstream ended its reply with an error.'

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error.trim()
  const object = objectOf(error)
  if (!object) return ''
  for (const told of [object.message, object.detail, object.msg, object.error]) {
    const text = textOf(told) ?? listed(told)
    if (text) return text
    const inner = objectOf(told)
    if (inner) return messageOf(inner)
  }
  return ''
}

/** Lists of what is wrong with each field: `{loc, msg}`. */
function listed(value: unknown): string | undefined {
  const problems = objectsOf(value).map((problem) => {
    const steps = Array.isArray(problem.loc) ? problem.loc : []
    const place = steps.map((step) => textOf(step) ?? numberOf(step) ?? '').join('.')
    return [place, textOf(problem.msg) ?? textOf(problem.message) ?? ''].filter(Boolean).join(': ')
  })
  return problems.length > 0 ? problems.join('; ') : undefined
}

function statusIn(error: JsonObject | undefined): number | undefined {
  for (const told of [error?.code, error?.status, error?.status_code]) {
    const status = typeof told === 'string' ? Number(told) : numberOf(told)
    if (status !== undefined && status >= 400 && status < 600) return status
  }
  return undefined
}

function codeOf(error: JsonObject | undefined): string | undefined {
  const metadata = objectOf(error?.metadata)
  for (const told of [metadata?.provider_code, error?.code, error?.type, error?.status]) {
    if (typeof told === 'string' && told !== '') return told
    if (typeof told === 'number') return String(told)
  }
  return undefined
}

function kindOf(error: JsonObject | undefined, message: string, status: number | undefined): FailureKind {
  const byCode = kindOfCode(error)
  if (byCode === 'context_length_exceeded' || byCode === 'content_policy_violation') return byCode
  const mayBeInput = status === undefined || (status >= 400 && status < 500)
  if (mayBeInput && status !== 401 && status !== 429 && tooLong.test(message))
    return 'context_length_exceeded'
  if (mayBeInput && unsafe.test(message)) return 'content_policy_violation'
  // Vendors say `invalid_request_error` and `server_error` with many a status, which then knows better.
  const vague = byCode === 'invalid_request' || byCode === 'provider_unavailable'
  if (byCode !== undefined && (!vague || status === undefined)) return byCode
  if (status !== undefined) return kindOfStatus(status)
  return 'provider_unavailable'
}

function kindOfCode(error: JsonObject | undefined): FailureKind | undefined {
  const metadata = objectOf(error?.metadata)
  for (const told of [metadata?.error_type, error?.code, error?.type, error?.status]) {
    if (typeof told !== 'string') continue
    const word = told.toLowerCase().replaceAll(' ', '_')
    const found = kindsByCode.find(([pattern]) => pattern.test(word))
    if (found) return found[1]
  }
  return undefined
}

/** The error of a reply that had already begun. The words of an internal error stay in the log. */
export function errorObject(error: GatewayError): JsonObject {
  const { status, message, type } = error.row
  return {
    ...vendorFields(error),
    code: status,
    message: status === 500 ? message : error.message,
    type,
    ...matchedMembers(error),
    metadata: metadataOf(error),
    ...(error.availability && { availability: error.availability }),
  }
}

const statuses: Partial<Record<FailureKind, number>> = {
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

/** The error of a choice that broke off, in a whole reply. */
export function failureObject(failure: UpstreamFailure): JsonObject {
  const metadata: JsonObject = { error_type: failure.kind }
  if (failure.code !== undefined) metadata.provider_code = failure.code
  return { code: statuses[failure.kind] ?? 400, message: failure.message, metadata }
}
