import { type HrTime, SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api'
import { JsonTraceSerializer, ProtobufTraceSerializer } from '@opentelemetry/otlp-transformer'
import {
  ATTR_GEN_AI_INPUT_MESSAGES,
  ATTR_GEN_AI_OUTPUT_MESSAGES,
  ATTR_SERVICE_NAME,
  ATTR_SERVICE_VERSION,
} from '@opentelemetry/semantic-conventions/incubating'
import { runInSlices } from '../lib/time-slicer.ts'
import { version } from '../lib/version.ts'
import { fitText } from './bounds.ts'
import type { EventSpan, GenerationEvent } from './event.ts'
import { buildRequestAttributes, buildSharedAttributes } from './otlp-attributes.ts'
import { formatMessages, readContent, type SpanContent } from './otlp-content.ts'
import { maxJsonBytes } from './otlp-fields.ts'
import type { OtlpProtocol, SpanAttributes, SpanMapping } from './otlp-mapping.ts'

// This module loads OpenTelemetry's encoder: import it only when it is used.

type ReadableSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]
type Resource = ReadableSpan['resource']

/** Serialising as much takes one to three milliseconds. */
const defaultContentBytes = 256 * 1024
const defaultValueBytes = maxJsonBytes
const maxNameBytes = 256
const maxListLength = 64
const maxChildSpans = 256

const scope = { name: 'headgate', version }

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
  resource: Resource
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

function createResource(attributes: SpanAttributes): Resource {
  const all = {
    [ATTR_SERVICE_NAME]: 'headgate',
    [ATTR_SERVICE_VERSION]: version,
    ...attributes,
  }
  const resource: Resource = {
    attributes: limitAttributes(all, defaultValueBytes),
    merge: () => resource,
    getRawAttributes: () => [],
  }
  return resource
}

function buildSpans(event: GenerationEvent, content: SpanContent, context: EncodeContext): ReadableSpan[] {
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
): ReadableSpan {
  const { trace, error } = event
  const valueBytes = mapping.maxValueBytes ?? defaultValueBytes
  const formatContent = mapping.content ?? formatConventionContent
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
      ...limitContent(formatContent(content), mapping.maxValueBytes),
      ...(content.isCut && { 'headgate.content.cut': true }),
    },
    resource,
  })
}

/** Messages are bounded already: measuring them again would take as long as encoding them. */
function limitContent(attributes: SpanAttributes, maxBytes: number | undefined): ReadableSpan['attributes'] {
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

function buildChildSpan(
  { attributes, ...span }: EventSpan,
  event: GenerationEvent,
  { mapping, resource }: EncodeContext,
): ReadableSpan {
  const all = { ...attributes, ...buildSharedAttributes(event), ...mapping.childAttributes }
  return buildSpan({
    ...span,
    traceId: event.trace.traceId,
    kind: SpanKind.INTERNAL,
    attributes: limitAttributes(all, mapping.maxValueBytes ?? defaultValueBytes),
    resource,
  })
}

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
  attributes: ReadableSpan['attributes']
  resource: Resource
}

function buildSpan(fields: SpanFields): ReadableSpan {
  const { traceId, spanId, parentSpanId, startedAt, error } = fields
  const endedAt = Math.max(startedAt, fields.endedAt)
  const traceFlags = TraceFlags.SAMPLED
  return {
    name: fitText(fields.name, maxNameBytes),
    kind: fields.kind,
    spanContext: () => ({ traceId, spanId, traceFlags }),
    ...(parentSpanId !== null && { parentSpanContext: { traceId, spanId: parentSpanId, traceFlags } }),
    startTime: toHrTime(startedAt),
    endTime: toHrTime(endedAt),
    duration: toHrTime(endedAt - startedAt),
    ended: true,
    status:
      error === null
        ? { code: SpanStatusCode.UNSET }
        : { code: SpanStatusCode.ERROR, message: fitText(error, defaultValueBytes) },
    attributes: fields.attributes,
    links: [],
    events: [],
    resource: fields.resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): HrTime {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

function limitAttributes(attributes: SpanAttributes, maxBytes: number): ReadableSpan['attributes'] {
  const limited: ReadableSpan['attributes'] = {}
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
