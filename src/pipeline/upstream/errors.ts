import type { UpstreamFailure } from '../../call/failure.ts'
import { GatewayError } from '../../errors/gateway-error.ts'

/** An upstream that failed, in the one form the pipeline knows. */
export class UpstreamError extends Error {
  readonly failure: UpstreamFailure

  constructor(failure: UpstreamFailure, cause?: unknown) {
    super(failure.message, { cause })
    this.failure = failure
  }
}

/** The client left: nobody waits for an answer any more. */
export class ClientGoneError extends Error {}

/** This process stops before the provider has finished. */
export class StoppingError extends GatewayError {
  constructor() {
    super('unavailable', {
      message: 'The server is shutting down. Send the request again.',
      headers: { 'retry-after': '1' },
    })
  }
}

/** A provider that does not keep to its own protocol. */
export function unexpectedReplyError(message: string, cause?: unknown): UpstreamError {
  return new UpstreamError({ kind: 'provider_unavailable', status: null, message }, cause)
}

export function timeoutError(): UpstreamError {
  return new UpstreamError({ kind: 'timeout', status: null, message: 'The provider took too long.' })
}

/** It had begun to answer. */
export function idleTimeoutError(): UpstreamError {
  return new UpstreamError({ kind: 'timeout', status: null, message: 'The provider stopped sending.' })
}
