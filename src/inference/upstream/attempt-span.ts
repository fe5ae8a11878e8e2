import { telemetryNameOf } from '../../catalog/provider.ts'
import type { UpstreamFailure } from '../../formats/call/failure.ts'
import { describeServer } from '../../platform/tracing/server-attributes.ts'
import { buildTraceHeaders, newSpanId, readTraceContext } from '../../platform/tracing/trace-parent.ts'
import type { AttemptedTranslation, Attempts } from '../request/attempts.ts'
import type { RequestState } from '../request/inference-request.ts'
import type { Candidate } from '../routing/candidate.ts'
import type { UpstreamExchange } from './exchange.ts'

/** Begins the span of an attempt, and tells the upstream the trace it belongs to. */
export function beginAttempt(
  request: RequestState,
  { model, endpoint, byokKey }: Candidate,
  { access }: AttemptedTranslation,
  exchange: UpstreamExchange,
): void {
  const { provider } = endpoint
  const span = request.spans?.begin(`attempt ${provider.slug}`, {
    kind: 'client',
    attributes: {
      'gen_ai.provider.name': telemetryNameOf(provider),
      'gen_ai.request.model': model.id,
      'headgate.endpoint': endpoint.tag,
      'headgate.byok': byokKey !== null,
      ...describeServer(access.baseUrl),
    },
  })
  request.attempts.span = span ?? null
  exchange.traceHeaders = propagateTrace(request, span?.spanId)
}

/** Builds trace headers; undefined unless the client sent a trace or the gateway exports its own. */
export function propagateTrace(
  { spans, httpRequest }: Pick<RequestState, 'spans' | 'httpRequest'>,
  spanId?: string,
): Record<string, string> | undefined {
  const root = spans ? spans.isPropagated && spans.root : readTraceContext(httpRequest.headers)
  return root ? buildTraceHeaders(root, spanId ?? newSpanId()) : undefined
}

/**
 * The upstream has begun to reply. Its attempt lasts until the end of the reply. A whole reply with tools contains later
 * turns, which have spans of their own by then.
 */
export function acceptAttempt({ attempts, spans }: RequestState, { status }: UpstreamExchange): void {
  if (!attempts.span || attempts.replySpan) return
  if (status !== null) attempts.span.describe({ 'http.response.status_code': status })
  attempts.replySpan = spans?.begin('reply') ?? null
}

/** A turn has ended, and another one may follow. */
export function endTurnSpans(attempts: Attempts): void {
  attempts.span?.end(null)
  attempts.replySpan?.end(null)
  attempts.span = attempts.replySpan = null
}

/** Ends the span of a failed attempt without the message, which may quote the prompt. */
export function failAttempt({ span }: Attempts, { kind, status }: UpstreamFailure): void {
  if (status !== null) span?.describe({ 'http.response.status_code': status })
  span?.end(kind)
}
