import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { type FailureKind, failureKindForStatus, type UpstreamFailure } from '../call/failure.ts'

/** Names of exceptions in lower case: a body has them with a capital, a stream without. */
const kindsByException = new Map<string, FailureKind>([
  ['accessdeniedexception', 'permission_denied'],
  ['unrecognizedclientexception', 'authentication'],
  ['expiredtokenexception', 'authentication'],
  ['invalidsignatureexception', 'authentication'],
  ['incompletesignatureexception', 'authentication'],
  ['missingauthenticationtokenexception', 'authentication'],
  ['resourcenotfoundexception', 'not_found'],
  ['throttlingexception', 'rate_limit_exceeded'],
  ['servicequotaexceededexception', 'rate_limit_exceeded'],
  ['serviceunavailableexception', 'provider_overloaded'],
  ['modelnotreadyexception', 'provider_overloaded'],
  ['modeltimeoutexception', 'timeout'],
  ['internalserverexception', 'provider_unavailable'],
  ['modelerrorexception', 'provider_unavailable'],
  ['modelstreamerrorexception', 'provider_unavailable'],
])

const contextPattern =
  /(?:prompt|input) is too long|too many (?:input )?tokens|exceeds? (?:the )?(?:model'?s )?(?:maximum )?context|context window|maximum (?:context|input) (?:length|tokens)/i
const securityTokenPattern = /security token|signature|api key/i

/** The body names its exception in `__type`, or not at all. */
export function decodeError(status: number, body: unknown): UpstreamFailure {
  const error = asObject(body)
  const exception = asString(error?.__type)?.split('#').at(-1)
  return decodeException(exception, error ?? {}, status)
}

/** `status` is null inside a stream. */
export function decodeException(
  exception: string | undefined,
  error: JsonObject,
  status: number | null,
): UpstreamFailure {
  const message = asString(error.message) || asString(error.Message) || asString(error.originalMessage) || ''
  return {
    kind: classify(exception?.toLowerCase(), message, status),
    status,
    message:
      message || exception || `The provider returned an error${status === null ? '' : ` (${status})`}.`,
    detail: error,
    ...(exception !== undefined && { code: exception }),
  }
}

function classify(exception: string | undefined, message: string, status: number | null): FailureKind {
  const isInvalid = exception === 'validationexception' || status === 400
  if (isInvalid && contextPattern.test(message)) return 'context_length_exceeded'
  const kind = kindsByException.get(exception ?? '')
  if (kind) return kind
  if (status === 403) return securityTokenPattern.test(message) ? 'authentication' : 'permission_denied'
  if (status !== null) return failureKindForStatus(status)
  return exception === 'validationexception' ? 'invalid_request' : 'provider_unavailable'
}
