import type { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import type { TracingConfig } from '../../config.ts'
import { version } from '../../lib/version.ts'
import type { RecordedSpan, RequestRoot, SpanKind } from './span-recorder.ts'

export interface QueuedSpan {
  root: RequestRoot
  span: RecordedSpan
}

/** Encodes spans as the body of an OTLP request. */
export interface OtlpEncoder {
  contentType: string
  encode(spans: readonly QueuedSpan[]): Uint8Array
}

type OtelSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]

/** The library is loaded only where traces are exported. */
export async function loadOtlpEncoder({
  protocol,
  serviceName,
}: Pick<TracingConfig, 'protocol' | 'serviceName'>): Promise<OtlpEncoder> {
  const otlp = await import('@opentelemetry/otlp-transformer')
  const isJson = protocol === 'http/json'
  const serializer = isJson ? otlp.JsonTraceSerializer : otlp.ProtobufTraceSerializer
  const resource = createResource(serviceName)
  return {
    contentType: isJson ? 'application/json' : 'application/x-protobuf',
    encode: (spans) => {
      const bytes = serializer.serializeRequest(spans.map((queued) => toOtelSpan(queued, resource)))
      if (!bytes) throw new Error('spans could not be encoded')
      return bytes
    },
  }
}

function createResource(serviceName: string): OtelSpan['resource'] {
  const attributes = { 'service.name': serviceName, 'service.version': version }
  const resource: OtelSpan['resource'] = {
    attributes,
    merge: () => resource,
    getRawAttributes: () => Object.entries(attributes),
  }
  return resource
}

const kinds = { internal: 0, server: 1, client: 2 } as const satisfies Record<SpanKind, number>
const errorStatus = 2
const instrumentationScope = { name: 'headgate', version }

function toOtelSpan({ root, span }: QueuedSpan, resource: OtelSpan['resource']): OtelSpan {
  const { traceId, flags, state } = root
  const { name, kind, spanId, parentSpanId, startedAt, endedAt, attributes, error } = span
  const context = {
    traceId,
    traceFlags: flags,
    ...(state !== null && { traceState: createTraceState(state) }),
  }
  const isRemote = kind === 'server'
  return {
    name,
    kind: kinds[kind],
    spanContext: () => ({ ...context, spanId }),
    ...(parentSpanId !== null && { parentSpanContext: { ...context, spanId: parentSpanId, isRemote } }),
    startTime: toHrTime(startedAt),
    endTime: toHrTime(endedAt),
    duration: toHrTime(endedAt - startedAt),
    ended: true,
    status: error === null ? { code: 0 } : { code: errorStatus },
    attributes: error === null ? attributes : { 'error.type': error, ...attributes },
    links: [],
    events: [],
    resource,
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

type OtelTraceState = NonNullable<ReturnType<OtelSpan['spanContext']>['traceState']>

/** Only ever serialized. */
function createTraceState(text: string): OtelTraceState {
  const state: OtelTraceState = {
    get: () => undefined,
    set: () => state,
    unset: () => state,
    serialize: () => text,
  }
  return state
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}
