import type { JsonTraceSerializer } from '@opentelemetry/otlp-transformer'
import { version } from '../version.ts'

/** A span as OpenTelemetry's encoder reads it. */
export type OtelSpan = Parameters<typeof JsonTraceSerializer.serializeRequest>[0][number]
export type OtelResource = OtelSpan['resource']

interface OtelSpanParts
  extends Pick<
    OtelSpan,
    'name' | 'kind' | 'spanContext' | 'parentSpanContext' | 'status' | 'attributes' | 'resource'
  > {
  /** Milliseconds since the epoch. */
  startedAt: number
  endedAt: number
  events?: readonly { name: string; attributes: OtelSpan['attributes']; at: number }[]
}

const instrumentationScope = { name: 'headgate', version }

export function createOtelSpan({ startedAt, endedAt, events = [], ...parts }: OtelSpanParts): OtelSpan {
  return {
    ...parts,
    startTime: toHrTime(startedAt),
    endTime: toHrTime(endedAt),
    duration: toHrTime(endedAt - startedAt),
    ended: true,
    links: [],
    events: events.map(({ at, ...event }) => ({ ...event, time: toHrTime(at), droppedAttributesCount: 0 })),
    instrumentationScope,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  }
}

/** Seconds and nanoseconds. */
function toHrTime(ms: number): [number, number] {
  const seconds = Math.floor(ms / 1000)
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)]
}

export function createOtelResource(attributes: OtelResource['attributes']): OtelResource {
  const resource: OtelResource = { attributes, merge: () => resource, getRawAttributes: () => [] }
  return resource
}
