import type { UpstreamFailure } from '../../formats/call/failure.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'

/** A failure of an upstream, in the form that failover and settlement use. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, cause?: unknown) {
    super(failure.message, { cause })
    this.failure = failure
  }
}

/** The client disconnected, so no reply is needed. */
export class ClientDisconnectedError extends Error {}

/** The process is shutting down before the provider has finished. */
export class ShutdownError extends GatewayError {
  constructor() {
    super('unavailable', {
      message: 'The server is shutting down. Send the request again.',
      headers: { 'retry-after': '1' },
    })
  }
}

/** The provider violated its protocol. */
export function unexpectedReplyError(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ kind: 'provider_unavailable', status: null, message }, cause)
}

export function tooManyPartsError(max: number): UpstreamError {
  return unexpectedReplyError(`The reply from the provider has more than ${max} parts.`)
}

export function timeoutError(): UpstreamError {
  return new UpstreamError({ kind: 'timeout', status: null, message: 'The provider timed out.' })
}

/** Builds the timeout of a reply that has already begun. */
export function idleTimeoutError(): UpstreamError {
  return new UpstreamError({
    kind: 'timeout',
    status: null,
    message: 'The provider stopped sending before its reply was complete.',
  })
}
