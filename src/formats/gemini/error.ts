import { type GatewayError, toErrorEnvelope } from '../../platform/errors/gateway-error.ts'
import {
  asNumber,
  asObject,
  asObjects,
  asString,
  isBlank,
  type JsonObject,
} from '../../platform/json/json-values.ts'
import { type FailureKind, failureKindForStatus, type UpstreamFailure } from '../call/failure.ts'

/** The vendor's status names by HTTP status. */
const statusNames: Record<number, string> = {
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

/** The vendor's error body, extended with the fields of the API's error envelope. */
export function encodeError(error: GatewayError, requestId: string): JsonObject {
  const { error: inner, ...rest } = toErrorEnvelope(error, requestId)
  const fallback = inner.code >= 500 ? 'UNAVAILABLE' : 'INVALID_ARGUMENT'
  const { vendor } = error
  const status = asString(vendor?.status) ?? statusNames[inner.code] ?? fallback
  const details = [...encodeDetails(error), ...asObjects(vendor?.details)]
  return { error: { ...inner, status, details }, ...rest }
}

function encodeDetails(error: GatewayError): JsonObject[] {
  const info = {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason: error.code.toUpperCase(),
    domain: 'headgate',
  }
  const retryAfter = Object.entries(error.headers).find(([name]) => name.toLowerCase() === 'retry-after')?.[1]
  if (retryAfter === undefined || !/^\d+$/.test(retryAfter)) return [info]
  return [info, { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: `${retryAfter}s` }]
}

const failureKindsByStatus: Record<string, FailureKind> = {
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

const invalidKeyReasons = new Set([
  'API_KEY_INVALID',
  'API_KEY_EXPIRED',
  'ACCESS_TOKEN_EXPIRED',
  'CREDENTIALS_MISSING',
])
const contextLengthPattern = /exceeds the maximum number of tokens|token count[^.]*(?:only supports|exceeds)/i

/** `status` is null for an error inside a stream. The vendor may wrap the error in an array. */
export function decodeError(status: number | null, body: unknown): UpstreamFailure {
  const payload = asObject(Array.isArray(body) ? body[0] : body)
  const inner = isBlank(payload?.error) ? undefined : asObject(payload?.error)
  const error = inner ?? (typeof payload?.message === 'string' ? payload : undefined)
  const statusName = asString(error?.status)
  const message = asString(error?.message) || asString(payload?.error) || ''
  const details = asObjects(error?.details)
  const failure: UpstreamFailure = {
    kind: classifyFailure(status ?? asNumber(error?.code) ?? 500, statusName, message, details),
    status,
    message: message || `The provider returned an error${status === null ? '' : ` (${status})`}.`,
  }
  if (error) failure.detail = error
  const reason = details.map((detail) => asString(detail.reason)).find((text) => text !== undefined)
  if (reason ?? statusName) failure.code = reason ?? statusName ?? ''
  const retryAfterMs = decodeRetryDelay(details)
  if (retryAfterMs !== undefined) failure.retryAfterMs = retryAfterMs
  return failure
}

function classifyFailure(
  status: number,
  statusName: string | undefined,
  message: string,
  details: JsonObject[],
): FailureKind {
  const reasons = details.map((detail) => asString(detail.reason) ?? '')
  if (reasons.some((reason) => invalidKeyReasons.has(reason))) return 'authentication'
  if (/api key (?:not valid|expired|not found)/i.test(message)) return 'authentication'
  if (contextLengthPattern.test(message)) return 'context_length_exceeded'
  if (statusName === 'FAILED_PRECONDITION' && /billing/i.test(message)) return 'payment_required'
  if (statusName === 'FAILED_PRECONDITION' && /location/i.test(message)) return 'permission_denied'
  return (statusName !== undefined && failureKindsByStatus[statusName]) || failureKindForStatus(status)
}

/** Parses durations such as `38s` and `1.5s`. */
function decodeRetryDelay(details: JsonObject[]): number | undefined {
  for (const detail of details) {
    const seconds = /^(\d+(?:\.\d+)?)s$/.exec(asString(detail.retryDelay) ?? '')?.[1]
    if (seconds !== undefined) return Math.round(Number(seconds) * 1000)
  }
  return undefined
}
