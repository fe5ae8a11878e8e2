import type { EventTrace } from '../../delivery/destinations/event.ts'
import { operationOf } from '../../formats/operation-name.ts'
import type { TaskName } from '../../formats/vocabulary.ts'
import { sha256 } from '../../platform/crypto/crypto.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import type { Nesting, OpenSpan, SpanRecorder } from '../../platform/tracing/span-recorder.ts'
import { readTraceContext, type TraceContext } from '../../platform/tracing/trace-parent.ts'
import type { NestedTrace, RequestState } from '../request/inference-request.ts'
import { sanitizeLabel } from '../request/options.ts'

type TracedRequest = Pick<RequestState, 'id' | 'httpRequest' | 'spans'> & {
  content: { readonly body: JsonObject }
}

/**
 * The trace of a request as destinations receive it, with the spans that have ended. The body's `trace` is more
 * specific than the header `traceparent`, which a proxy may have added: its ids count where both are sent.
 */
export function buildEventTrace({ id, httpRequest, content, spans }: TracedRequest): EventTrace {
  const { trace_id, trace_name, span_name, generation_name, parent_span_id, ...metadata } =
    asObject(content.body.trace) ?? {}
  if (spans?.nesting) return buildNestedTrace(spans, spans.nesting)
  const root = spans?.root ?? deriveRoot(id, readTraceContext(httpRequest.headers))
  const traceId = toHexId(trace_id, traceIdDigits)
  const parentSpanId = toHexId(parent_span_id, spanIdDigits)
  // The client's span of another trace is no parent in this one.
  const isClientTrace = traceId === null || traceId === root.traceId
  return {
    traceId: traceId ?? root.traceId,
    spanId: root.spanId,
    parentSpanId: parentSpanId ?? (isClientTrace ? root.parentSpanId : null),
    traceName: readLabel(trace_name),
    spanName: readLabel(span_name),
    generationName: readLabel(generation_name),
    metadata: limitMetadata(metadata),
    spans: spans ? spans.listSpans() : [],
  }
}

/** A nested request is in the trace of its outer one, whose body may have named it. */
function buildNestedTrace(spans: SpanRecorder, { purpose, eventTraceId }: Nesting): EventTrace {
  const { traceId, spanId, parentSpanId } = spans.root
  const ids = { traceId: eventTraceId ?? traceId, spanId, parentSpanId }
  return { ...ids, ...noNames, purpose, metadata: {}, spans: spans.listSpans() }
}

/** The recorder of a request on behalf of another one; its spans are read where those of the other one are. */
export function nestTrace(
  outer: TracedRequest & Pick<RequestState, 'sampledId'>,
  task: TaskName,
  purpose: string,
  parent: OpenSpan | null = null,
): NestedTrace {
  const { spans, sampledId, content } = outer
  if (!spans) return { spans, sampledId }
  const eventTraceId = spans.nesting
    ? spans.nesting.eventTraceId
    : toHexId(asObject(content.body.trace)?.trace_id, traceIdDigits)
  return { spans: spans.nest(operationOf(task), { purpose, eventTraceId }, parent), sampledId }
}

const noNames = { traceName: null, spanName: null, generationName: null }

/** The trace of a generation whose request is gone; the same whenever it is built. */
export function deriveTrace(generationId: string): EventTrace {
  return { ...deriveRoot(generationId, null), ...noNames, metadata: {}, spans: [] }
}

const maxUserLength = 128

/** The end user, as long as it may be in a trace. */
export function limitUser(user: string | null): string | null {
  return sanitizeLabel(user, maxUserLength)
}

const traceIdDigits = 32
const spanIdDigits = 16

function deriveRoot(
  generationId: string,
  context: TraceContext | null,
): Pick<EventTrace, 'traceId' | 'spanId' | 'parentSpanId'> {
  const digits = sha256(generationId)
  return {
    traceId: context?.traceId ?? digits.slice(0, traceIdDigits),
    spanId: digits.slice(traceIdDigits, traceIdDigits + spanIdDigits),
    parentSpanId: context?.spanId ?? null,
  }
}

/** An id of another form is hashed, so that requests with the same id are in one trace. */
function toHexId(value: unknown, digits: number): string | null {
  const text = readLabel(value)
  if (text === null) return null
  const hex = text.toLowerCase()
  const isHexId = hex.length === digits && /^[0-9a-f]+$/.test(hex) && /[^0]/.test(hex)
  return isHexId ? hex : sha256(text).slice(0, digits)
}

function readLabel(value: unknown): string | null {
  return sanitizeLabel(asString(value))
}

const maxMetadataEntries = 64
const maxMetadataLength = 1024

/** Longer texts are cut, larger objects and lists are left out. */
function limitMetadata(metadata: JsonObject): JsonObject {
  const entries = Object.entries(metadata)
    .slice(0, maxMetadataEntries)
    .map(([name, value]) => [sanitizeLabel(name) ?? '', limitValue(value)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function limitValue(value: unknown): unknown {
  if (typeof value === 'string') return sanitizeLabel(value, maxMetadataLength) ?? ''
  return estimateJsonLength(value, maxMetadataLength) <= maxMetadataLength ? value : undefined
}
