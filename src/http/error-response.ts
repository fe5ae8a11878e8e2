import type { Logger } from 'pino'
import type { Gateway } from '../gateway/gateway.ts'
import { isDatabaseUnavailable } from '../platform/db/unavailable.ts'
import {
  GatewayError,
  toErrorEnvelope,
  toGatewayError,
  unavailableError,
} from '../platform/errors/gateway-error.ts'
import { BlobStoreError } from '../platform/files/s3-store.ts'
import { logOf } from '../platform/logging/request-log.ts'
import { subsystemLog } from '../platform/logging/subsystem-log.ts'
import type { SpanRecorder } from '../platform/tracing/span-recorder.ts'
import type { Operation } from './operation.ts'

/** The properties of an operation that its error responses depend on. */
export type FailingOperation = Pick<Operation, 'inference' | 'encodeError'>

/** The encoder of a format with an error envelope of its own. */
export function errorEncoderOf({ inference, encodeError }: FailingOperation) {
  return inference?.encodeError ?? encodeError
}

interface FailedRequest {
  requestId: string
  operation: FailingOperation | undefined
  /** Undefined where the server fails before a request is known. */
  httpRequest?: Request
  spans?: SpanRecorder | null
}

/** The only place where an error becomes a response. */
export function buildErrorResponse(gateway: Gateway, error: unknown, failed: FailedRequest): Response {
  const failure = toClientError(error)
  const { requestId, operation } = failed
  const { status, retry } = failure.row
  if (status === 500) findLog(gateway, failed).error({ err: failure.cause ?? failure }, 'request failed')
  if (failure.cause instanceof BlobStoreError)
    findLog(gateway, failed).error({ err: failure.cause }, 'file storage unavailable')
  const encode = (operation && errorEncoderOf(operation)) ?? toErrorEnvelope
  return Response.json(encode(failure, requestId), {
    status,
    headers: { ...(!retry && { 'x-should-retry': 'false' }), ...failure.headers },
  })
}

function findLog(gateway: Gateway, { requestId, httpRequest, spans = null }: FailedRequest): Logger {
  if (httpRequest) return logOf(gateway, { httpRequest, spans }, 'http')
  return subsystemLog(gateway.log, 'http').child({ requestId })
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
