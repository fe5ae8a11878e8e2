import type { Gateway } from '../gateway/gateway.ts'
import { isDatabaseUnavailable } from '../platform/db/unavailable.ts'
import {
  GatewayError,
  toErrorEnvelope,
  toGatewayError,
  unavailableError,
} from '../platform/errors/gateway-error.ts'
import { BlobStoreError } from '../platform/files/s3-store.ts'
import type { Operation } from './operation.ts'

/** The properties of an operation that its error responses depend on. */
export type FailingOperation = Pick<Operation, 'inference' | 'encodeError'>

/** The encoder of a format with an error envelope of its own. */
export function errorEncoderOf({ inference, encodeError }: FailingOperation) {
  return inference?.encodeError ?? encodeError
}

/** The only place where an error becomes a response. */
export function buildErrorResponse(
  gateway: Gateway,
  error: unknown,
  { requestId, operation }: { requestId: string; operation: FailingOperation | undefined },
): Response {
  const failure = toClientError(error)
  const { status, retry } = failure.row
  if (status === 500) gateway.log.error({ requestId, err: failure.cause ?? failure }, 'request failed')
  if (failure.cause instanceof BlobStoreError)
    gateway.log.error({ requestId, err: failure.cause }, 'file storage unavailable')
  const encode = (operation && errorEncoderOf(operation)) ?? toErrorEnvelope
  return Response.json(encode(failure, requestId), {
    status,
    headers: { ...(!retry && { 'x-should-retry': 'false' }), ...failure.headers },
  })
}

/** An unavailable database or file storage is a 503, not an internal error. */
export function toClientError(error: unknown): GatewayError {
  const failure = toGatewayError(error)
  if (failure.cause instanceof BlobStoreError) return storageUnavailableError(failure.cause)
  if (failure.code !== 'internal' || !isDatabaseUnavailable(failure.cause)) return failure
  return unavailableError(failure.cause)
}

function storageUnavailableError(cause: BlobStoreError): GatewayError {
  const message = 'The file storage is temporarily unavailable. Retry later.'
  return new GatewayError('unavailable', { message, cause, headers: { 'retry-after': '5' } })
}
