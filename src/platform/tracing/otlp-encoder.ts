import type { TracingConfig } from '../../config.ts'
import type { SpanKind } from '../../delivery/destinations/event.ts'
import { version } from '../version.ts'
import { createOtelResource, createOtelSpan, type OtelResource, type OtelSpan } from './otel-span.ts'
import type { RecordedSpan, RequestRoot } from './span-recorder.ts'

export interface QueuedSpan {
  root: RequestRoot
  span: RecordedSpan
}

/** Encodes spans as the body of an OTLP request. */
export interface OtlpEncoder {
  contentType: string
  encode(spans: readonly QueuedSpan[]): Uint8Array
}

/** The library is loaded only where traces are exported. */
export async function loadOtlpEncoder({
  protocol,
  serviceName,
}: Pick<TracingConfig, 'protocol' | 'serviceName'>): Promise<OtlpEncoder> {
  const otlp = await import('@opentelemetry/otlp-transformer')
  const isJson = protocol === 'http/json'
  const serializer = isJson ? otlp.JsonTraceSerializer : otlp.ProtobufTraceSerializer
  const resource = createOtelResource({ 'service.name': serviceName, 'service.version': version })
  return {
    contentType: isJson ? 'application/json' : 'application/x-protobuf',
    encode: (spans) => {
      const bytes = serializer.serializeRequest(spans.map((queued) => toOtelSpan(queued, resource)))
      if (!bytes) throw new Error('spans could not be encoded')
      return bytes
    },
  }
}

const kinds = { internal: 0, server: 1, client: 2 } as const satisfies Record<SpanKind, number>
const errorStatus = 2

function toOtelSpan({ root, span }: QueuedSpan, resource: OtelResource): OtelSpan {
  const { traceId, flags, state } = root
  const { name, kind, spanId, parentSpanId, startedAt, endedAt, attributes, error } = span
  const context = {
    traceId,
    traceFlags: flags,
    ...(state !== null && { traceState: createTraceState(state) }),
  }
  const isRemote = kind === 'server'
  return createOtelSpan({
    name,
    kind: kinds[kind],
    spanContext: () => ({ ...context, spanId }),
    ...(parentSpanId !== null && { parentSpanContext: { ...context, spanId: parentSpanId, isRemote } }),
    startedAt,
    endedAt,
    status: error === null ? { code: 0 } : { code: errorStatus },
    attributes: error === null ? attributes : { 'error.type': error, ...attributes },
    resource,
  })
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
