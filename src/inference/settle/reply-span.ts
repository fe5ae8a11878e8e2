import { findTelemetryName, telemetryNameOf } from '../../catalog/provider.ts'
import { countCompletionTokens, countPromptTokens } from '../../formats/call/usage.ts'
import { operationOf } from '../../formats/operation-name.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { UpstreamTarget } from '../../ledger/draft.ts'
import type { SpanAttributes, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import type { Outcome } from '../request/attempts.ts'
import type { RequestState } from '../request/inference-request.ts'
import { readDimensions } from './event.ts'

/** Ends the spans of the last attempt and of the reply before settlement, and describes the request. */
export function recordReply(request: RequestState, spans: SpanRecorder, outcome: Outcome): void {
  const { candidate, span, replySpan } = request.attempts
  const { error, status, charge, summary } = outcome
  const problem = error?.code ?? summary?.failure?.kind ?? (status === 'completed' ? null : status)
  endAttempt(request, problem)
  replySpan?.end(problem)
  const { usage } = charge
  if (candidate) spans.rename(`${operationOf(request.format.task)} ${candidate.model.id}`)
  spans.describe(
    {
      ...describeGeneration(request),
      ...(candidate && describeTarget(candidate.model.id, telemetryNameOf(candidate.endpoint.provider))),
      ...(span && {
        'gen_ai.usage.input_tokens': countPromptTokens(usage),
        'gen_ai.usage.output_tokens': countCompletionTokens(usage),
      }),
    },
    problem,
  )
  spans.endStream()
}

/** The attempt of a whole reply ended when the reply was there; that of a stream ends now. */
function endAttempt({ attempts, startedAt }: RequestState, problem: string | null) {
  const { span, replySpan, firstTokenMs } = attempts
  if (!span) return
  if (firstTokenMs === null) return span.end(problem, replySpan?.startedAt)
  const waitedMs = startedAt + firstTokenMs - span.startedAt
  span.describe({ 'gen_ai.response.time_to_first_chunk': waitedMs / 1000 })
  span.end(problem)
}

/** A reply of the response cache costs no tokens. */
export function recordCachedReply(
  { catalog }: Gateway,
  request: RequestState,
  { model, provider }: Pick<UpstreamTarget, 'model' | 'provider'>,
): void {
  request.spans?.describe({
    ...describeGeneration(request),
    ...describeTarget(model, findTelemetryName(catalog, provider)),
    'headgate.cache.hit': true,
  })
}

function describeGeneration({ id, format, content }: RequestState): SpanAttributes {
  const dimensions = readDimensions(format, content)
  return {
    'gen_ai.operation.name': operationOf(format.task),
    'headgate.generation_id': id,
    'gen_ai.request.stream': content.stream,
    ...(dimensions !== undefined && { 'gen_ai.embeddings.dimension.count': dimensions }),
  }
}

function describeTarget(model: string, provider: string): SpanAttributes {
  return { 'gen_ai.request.model': model, 'gen_ai.provider.name': provider }
}
