import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import {
  ATTR_ERROR_TYPE,
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from '@opentelemetry/semantic-conventions/incubating'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import {
  createOtelResource,
  createOtelSpan,
  type OtelResource,
  type OtelSpan,
} from '../../platform/tracing/otel-span.ts'
import { version } from '../../platform/version.ts'
import { fitText } from './bounds.ts'
import type { EventSpan, SpanKind as EventSpanKind, GenerationEvent } from './event.ts'
import { buildRequestAttributes, buildSharedAttributes } from './otlp-attributes.ts'
import { formatMessages, readContent, type SpanContent } from './otlp-content.ts'
import { maxJsonBytes } from './otlp-fields.ts'
import type { OtlpProtocol, SpanAttributes, SpanMapping } from './otlp-mapping.ts'

// This module loads OpenTelemetry's encoder: import it only when it is used.

/** Serialising as much takes one to three milliseconds. */
const defaultContentBytes = 256 * 1024
const defaultValueBytes = maxJsonBytes
const maxNameBytes = 256
const maxListLength = 64
const maxChildSpans = 256

/** An export request with the spans of all events. It yields to the event loop between events. */
export async function encodeSpans(
  events: readonly GenerationEvent[],
  protocol: OtlpProtocol,
  mapping: SpanMapping,
  resourceAttributes: SpanAttributes,
): Promise<Uint8Array> {
  const resource = createResource(resourceAttributes)
  return joiners[protocol](await runInSlices(encodeEach(events, protocol, { mapping, resource })))
}

interface EncodeContext {
  mapping: SpanMapping
  resource: OtelResource
}

/** A request for each event, because one for all of them could not be made in slices. */
function* encodeEach(
  events: readonly GenerationEvent[],
  protocol: OtlpProtocol,
  context: EncodeContext,
): Generator<void, Uint8Array[]> {
  const requests: Uint8Array[] = []
  for (const event of events) {
    const content = readContent(event, context.mapping.maxContentBytes ?? defaultContentBytes)
    yield
    const spans = buildSpans(event, content, context)
    yield
    const request = serializers[protocol].serializeRequest(spans)
    if (request !== undefined) requests.push(request)
    yield
  }
  return requests
}

const serializers = { json: JsonTraceSerializer, protobuf: ProtobufTraceSerializer }

const joiners: Record<OtlpProtocol, (requests: readonly Uint8Array[]) => Uint8Array> = {
  json: joinJsonRequests,
  // Messages of protobuf are merged by concatenating them.
  protobuf: (requests) => Buffer.concat(requests),
}

const jsonStart = Buffer.from('{"resourceSpans":[')
const jsonEnd = Buffer.from(']}')

function joinJsonRequests(requests: readonly Uint8Array[]): Uint8Array {
  const lists = requests.map((request) => request.subarray(jsonStart.length, -jsonEnd.length))
  const separated = lists.flatMap((list, at) => (at === 0 ? [list] : [Buffer.from(','), list]))
  return Buffer.concat([jsonStart, ...separated, jsonEnd])
}

function createResource(attributes: SpanAttributes): OtelResource {
  const all = {
    [ATTR_SERVICE_NAME]: 'headgate',
    [ATTR_SERVICE_VERSION]: version,
    ...attributes,
  }
  return createOtelResource(limitAttributes(all, defaultValueBytes))
}

function buildSpans(event: GenerationEvent, content: SpanContent, context: EncodeContext): OtelSpan[] {
  const children = event.trace.spans.slice(0, maxChildSpans)
  return [
    buildRequestSpan(event, content, context),
    ...children.map((span) => buildChildSpan(span, event, context)),
  ]
}

function buildRequestSpan(
  event: GenerationEvent,
  content: SpanContent,
  { mapping, resource }: EncodeContext,
): OtelSpan {
  const { trace, error } = event
  const valueBytes = mapping.maxValueBytes ?? defaultValueBytes
  const formatContent = mapping.content ?? formatConventionContent
  const messages = limitContent(formatContent(content), mapping.maxValueBytes)
  const hasEvent = mapping.hasContentEvent === true && Object.keys(messages).length > 0
  return buildSpan({
    traceId: trace.traceId,
    spanId: trace.spanId,
    parentSpanId: trace.parentSpanId,
    name: nameSpan(event),
    kind: SpanKind.CLIENT,
    startedAt: event.startedAt,
    endedAt: event.endedAt,
    error: error?.message ?? (event.status === 'failed' ? '' : null),
    attributes: {
      ...limitAttributes({ ...buildRequestAttributes(event), ...buildSharedAttributes(event) }, valueBytes),
      ...limitAttributes(mapping.attributes?.(event) ?? {}, valueBytes),
      ...(!hasEvent && messages),
      ...(content.isCut && { 'headgate.content.cut': true }),
    },
    ...(hasEvent && { event: { name: contentEventName, attributes: messages } }),
    resource,
  })
}

/** Messages are bounded already: measuring them again would take as long as encoding them. */
function limitContent(attributes: SpanAttributes, maxBytes: number | undefined): OtelSpan['attributes'] {
  if (maxBytes !== undefined) return limitAttributes(attributes, maxBytes)
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined))
}

function nameSpan({ trace, operation, requestedModel }: GenerationEvent): string {
  return trace.generationName ?? trace.spanName ?? `${operation} ${requestedModel}`
}

function formatConventionContent({ input, output }: SpanContent): SpanAttributes {
  return {
    [ATTR_GEN_AI_INPUT_MESSAGES]: formatMessages(input),
    [ATTR_GEN_AI_OUTPUT_MESSAGES]: formatMessages(output),
  }
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
} as const satisfies Record<EventSpanKind, SpanKind>

function buildChildSpan(
  { attributes, kind = 'internal', ...span }: EventSpan,
  event: GenerationEvent,
  { mapping, resource }: EncodeContext,
): OtelSpan {
  const all = {
    ...(span.error !== null && { [ATTR_ERROR_TYPE]: span.error }),
    ...attributes,
    ...buildSharedAttributes(event),
    ...mapping.childAttributes,
  }
  return buildSpan({
    ...span,
    traceId: event.trace.traceId,
    kind: kinds[kind],
    attributes: limitAttributes(all, mapping.maxValueBytes ?? defaultValueBytes),
    resource,
  })
}

/** Of the GenAI conventions. */
const contentEventName = 'gen_ai.client.inference.operation.details'

interface SpanFields {
  traceId: string
  spanId: string
  parentSpanId: string | null
  name: string
  kind: SpanKind
  startedAt: number
  endedAt: number
  /** A message, which may be empty; null: no error. */
  error: string | null
  attributes: OtelSpan['attributes']
  /** At the end of the span. */
  event?: { name: string; attributes: OtelSpan['attributes'] }
  resource: OtelResource
}

function buildSpan(fields: SpanFields): OtelSpan {
  const { traceId, spanId, parentSpanId, startedAt, error } = fields
  const endedAt = Math.max(startedAt, fields.endedAt)
  const traceFlags = TraceFlags.SAMPLED
  return createOtelSpan({
    name: fitText(fields.name, maxNameBytes),
    kind: fields.kind,
    spanContext: () => ({ traceId, spanId, traceFlags }),
    ...(parentSpanId !== null && { parentSpanContext: { traceId, spanId: parentSpanId, traceFlags } }),
    startedAt,
    endedAt,
    status:
      error === null
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: fitText(error, defaultValueBytes) },
    attributes: fields.attributes,
    events: fields.event ? [{ ...fields.event, at: endedAt }] : [],
    resource: fields.resource,
  })
}

function limitAttributes(attributes: SpanAttributes, maxBytes: number): OtelSpan['attributes'] {
  const limited: OtelSpan['attributes'] = {}
  for (const [key, value] of Object.entries(attributes)) {
    const name = fitText(key, maxNameBytes)
    if (typeof value === 'string') limited[name] = fitText(value, maxBytes)
    else if (Array.isArray(value))
      limited[name] = value.slice(0, maxListLength).map((text) => fitText(text, maxBytes))
    else if (typeof value === 'number') limited[name] = limitNumber(value)
    else if (value !== undefined) limited[name] = value
  }
  return limited
}

/** An integer of more than 64 bits, or no number at all, makes receivers reject the whole request. */
function limitNumber(value: number): number | string {
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !Number.isInteger(value))
    ? value
    : `${value}`
}
