import type { Gateway } from '../../gateway/gateway.ts'
import { createRoot, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import { readTraceContext } from '../../platform/tracing/trace-parent.ts'
import type { IncomingRequest } from './inference-request.ts'

/**
 * The recorder of a request's stages, of which parsing is the first; null unless it is read: by the operator's own export
 * or, with `isExported`, by a destination.
 */
export function recordSpans(
  gateway: Gateway,
  { httpRequest, trace }: Pick<IncomingRequest, 'httpRequest' | 'trace'>,
  startedAt: number,
  isExported: boolean,
): SpanRecorder | null {
  const spans = trace ? trace.spans : findRecorder(gateway, httpRequest, startedAt, isExported)
  spans?.begin('parse', { startedAt })?.end()
  return spans
}

function findRecorder(
  gateway: Gateway,
  httpRequest: Request,
  startedAt: number,
  isExported: boolean,
): SpanRecorder | null {
  const own = gateway.tracer?.find(httpRequest) ?? null
  return own ?? (isExported ? createRecorder(gateway, httpRequest, startedAt) : null)
}

/** Creates a recorder without a sink: the request's own span is part of the event, so it is not exported here. */
function createRecorder({ clock }: Gateway, { headers }: Request, startedAt: number): SpanRecorder {
  const context = readTraceContext(headers)
  const isPropagated = context !== null
  const options = { name: '', attributes: {}, clock, startedAt, isPropagated, sink: null }
  return new SpanRecorder(createRoot(context), options)
}
