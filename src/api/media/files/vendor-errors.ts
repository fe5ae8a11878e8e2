import type { FailureKind } from '../../../formats/call/failure.ts'
import { ClientDisconnectedError, UpstreamError } from '../../../inference/failures/errors.ts'
import { GatewayError, gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { ErrorCode } from '../../../platform/errors/table.ts'
import { fileNotFoundError } from './context.ts'

/** Failures that the request itself caused. Every other one is the vendor's: 502. */
const errorCodes: Partial<Record<FailureKind, ErrorCode>> = {
  invalid_request: 'upstream_rejected',
  unprocessable: 'upstream_rejected',
  content_policy_violation: 'upstream_rejected',
  payload_too_large: 'upstream_too_large',
  rate_limit_exceeded: 'upstream_rate_limited',
  provider_overloaded: 'upstream_overloaded',
}

/** The account is the caller's own, so the message names the problem, without the vendor's text, which may identify it. */
const accountMessages: Partial<Record<FailureKind, string>> = {
  authentication: 'The provider rejected the BYOK key.',
  permission_denied: 'The BYOK key has no permission for this at the provider.',
  payment_required: 'The account of the BYOK key has no credits at the provider.',
}

/** The error for the client of a request to a vendor's file storage. */
export function toVendorError(error: unknown, provider: string): unknown {
  if (error instanceof ClientDisconnectedError)
    return gatewayError('request_timeout', 'The client closed the connection.')
  if (!(error instanceof UpstreamError)) return error
  const { kind, message, retryAfterMs } = error.failure
  if (kind === 'not_found') return fileNotFoundError()
  return new GatewayError(errorCodes[kind] ?? 'upstream_failed', {
    message: accountMessages[kind] ?? message,
    metadata: { error_type: kind, provider_name: provider },
    headers: retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(retryAfterMs / 1000)) },
    cause: error,
  })
}
