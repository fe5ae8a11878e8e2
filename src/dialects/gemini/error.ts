import { type FailureKind, kindOfStatus, type UpstreamFailure } from '../../call/failure.ts'
import { envelope, type GatewayError } from '../../errors.ts'
import { type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'

/** The vendor's words for a status. */
const statusWords: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  402: 'FAILED_PRECONDITION',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  405: 'UNIMPLEMENTED',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  422: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  504: 'DEADLINE_EXCEEDED',
}

/** The vendor's error, with what the standard envelope has beside it. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...beside } = envelope(error, requestId)
  const fallback = inner.code >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT'
  const { vendor } = error
  const status = textOf(vendor?.status) ?? statusWords[inner.code] ?? fallback
  const details = [...detailsOf(error), ...objectsOf(vendor?.details)]
  return { error: { ...inner, status, details }, ...beside }
}

function detailsOf(error: GatewayError): JsonObject[] {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: error.code.toUpperCase(),
    domain: 'headgate',
  }
  const wait = Object.entries(error.headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  if (wait === undefined || !/^\d+$/.test(wait)) return [info]
  return [info, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${wait}s` }]
}

const kinds: Record<string, FailureKind> = {
  UNAUTHENTICATED: 'authentication',
  PERMISSION_DENIED: 'permission_denied',
  NOT_FOUND: 'not_found',
  RESOURCE_EXHAUSTED: 'rate_limit_exceeded',
  UNAVAILABLE: 'provider_overloaded',
  INTERNAL: 'provider_unavailable',
  UNKNOWN: 'provider_unavailable',
  ABORTED: 'provider_unavailable',
  CANCELLED: 'provider_unavailable',
  DATA_LOSS: 'provider_unavailable',
  DEADLINE_EXCEEDED: 'timeout',
}

const badKeys = new Set(['API_KEY_INVALID', 'API_KEY_EXPIRED', 'ACCESS_TOKEN_EXPIRED', 'CREDENTIALS_MISSING'])
const tooLong = /exceeds the maximum number of tokens|token count[^.]*(?:only supports|exceeds)/i

/** A status of the answer, or null when the error came inside a stream. The vendor may wrap it in a list. */
export function decodeError(status: number | null, body: unknown): UpstreamFailure {
  const given = objectOf(Array.isArray(body) ? body[0] : body)
  const error = objectOf(given?.error) ?? (typeof given?.message === 'string' ? given : undefined)
  const word = textOf(error?.status)
  const message = textOf(error?.message) ?? textOf(given?.error) ?? ''
  const details = objectsOf(error?.details)
  const failure: UpstreamFailure = {
    kind: kindOf(status ?? numberOf(error?.code) ?? 500, word, message, details),
    status,
    message: message || `The upstream answered with an error${status === null ? '' : ` (${status})`}.`,
  }
  if (error) failure.detail = error
  const reason = details.map((detail) => textOf(detail.reason)).find((text) => text !== undefined)
  if (reason ?? word) failure.code = reason ?? word ?? ''
  const wait = retryDelay(details)
  if (wait !== undefined) failure.retryAfterMs = wait
  return failure
}

function kindOf(
  status: number,
  word: string | undefined,
  message: string,
  details: JsonObject[],
): FailureKind {
  const reasons = details.map((detail) => textOf(detail.reason) ?? '')
  if (reasons.some((reason) => badKeys.has(reason))) return 'authentication'
  if (/api key (?:not valid|expired|not found)/i.test(message)) return 'authentication'
  if (tooLong.test(message)) return 'context_length_exceeded'
  if (word === 'FAILED_PRECONDITION' && /billing/i.test(message)) return 'payment_required'
  if (word === 'FAILED_PRECONDITION' && /location/i.test(message)) return 'permission_denied'
  return (word !== undefined && kinds[word]) || kindOfStatus(status)
}

/** `38s`, `1.5s`. */
function retryDelay(details: JsonObject[]): number | undefined {
  for (const detail of details) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(textOf(detail.retryDelay) ?? '')?.[1]
    if (seconds !== undefined) return Math.round(Number(seconds) * 1000)
  }
  return undefined
}
