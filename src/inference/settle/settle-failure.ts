import type { Gateway } from '../../gateway/gateway.ts'
import { zeroCharge } from '../../ledger/charge.ts'
import type { Statement } from '../../platform/db/batch.ts'
import { type GatewayError, gatewayError, toGatewayError } from '../../platform/errors/gateway-error.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { explainError } from '../explain/metadata.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import type { Outcome } from '../request/attempts.ts'
import type { Admitted, RequestState } from '../request/inference-request.ts'
import { markRecorded } from './reject.ts'
import { settleOnce } from './settle.ts'

/** Settles a request without a reply, at no charge; returns the error for the client. */
export async function settleFailure(
  gateway: Gateway,
  request: Admitted,
  error: unknown,
  extraStatements?: readonly Statement[],
): Promise<Error> {
  const isGone = error instanceof ClientDisconnectedError
  const clientError = isGone
    ? gatewayError('request_timeout', 'The client closed the connection.')
    : toGatewayError(error)
  const status = isGone ? 'cancelled' : 'failed'
  explainError(request, clientError)
  addFileAnnotations(request, clientError)
  // A failed settlement is logged; the client is sent the first error.
  const charge = request.work?.bill.close() ?? zeroCharge
  const outcome: Outcome = { status, charge, summary: null, error: clientError, firstTokenMs: null }
  await settleOnce(gateway, request, outcome, extraStatements).catch(() => undefined)
  if (request.attempts.candidate) markRecorded(request)
  clientError.headers['x-generation-id'] = request.id
  return clientError
}

/** An error is sent as one text. */
const maxAnnotationLength = 1024 * 1024

/**
 * Adds annotations to an error, so that a client that tries again need not have its files parsed again. No filter of
 * replies reads an error.
 */
export function addFileAnnotations({ work, keyContext }: RequestState, error: GatewayError): void {
  const annotations = keyContext.contentRules?.output?.enforced ? [] : (work?.fileAnnotations ?? [])
  if (annotations.length > 0 && estimateJsonLength(annotations, maxAnnotationLength) <= maxAnnotationLength)
    error.metadata.file_annotations = annotations
}
