import { zeroCharge } from '../../ledger/charge.ts'
import { type GatewayError, gatewayError, toGatewayError } from '../../platform/errors/gateway-error.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { explainError } from '../explain/metadata.ts'
import { ClientDisconnectedError } from '../failures/errors.ts'
import type { ModelRequest } from '../request/inference-request.ts'
import { markRecorded } from './reject.ts'
import type { SettleFn } from './settle.ts'
import type { RequestTrace } from './trace.ts'

/** Settles a request without a reply, at no charge; returns the error for the client. */
export async function settleFailure(
  request: ModelRequest,
  trace: RequestTrace,
  settle: SettleFn,
  error: unknown,
): Promise<Error> {
  const isGone = error instanceof ClientDisconnectedError
  const clientError = isGone
    ? gatewayError('request_timeout', 'The client closed the connection.')
    : toGatewayError(error)
  const status = isGone ? 'cancelled' : 'failed'
  explainError(request, trace.plan, trace, clientError)
  addFileAnnotations(request, clientError)
  // A failed settlement is logged; the client is sent the first error.
  const charge = request.work?.bill.close() ?? zeroCharge
  await settle({ status, charge, summary: null, error: clientError, firstTokenMs: null }).catch(
    () => undefined,
  )
  if (trace.candidate) markRecorded(request)
  clientError.headers['x-generation-id'] = request.id
  return clientError
}

/** An error is sent as one text. */
const maxAnnotationLength = 1024 * 1024

/** So that a client that tries again need not have its files parsed again. No filter of replies reads an error. */
export function addFileAnnotations({ work, keyContext }: ModelRequest, error: GatewayError): void {
  const annotations = keyContext.contentRules?.output?.enforced ? [] : (work?.fileAnnotations ?? [])
  if (annotations.length > 0 && estimateJsonLength(annotations, maxAnnotationLength) <= maxAnnotationLength)
    error.metadata.file_annotations = annotations
}
