/** A span as it arrived, decoded independently of src. */
export interface ReceivedSpan {
  traceId: string
  spanId: string
  parentSpanId: string
  traceState: string
  name: string
  kind: number
  start: bigint
  end: bigint
  attributes: Record<string, unknown>
  /** Code of the status: 0 unset, 2 error. */
  code: number
}

/** A metric as it arrived, decoded independently of src. */
export interface ReceivedMetric {
  name: string
  unit: string
  kind: 'gauge' | 'sum' | 'histogram'
  points: ReceivedPoint[]
}

export interface ReceivedPoint {
  attributes: Record<string, unknown>
  /** The sum of a histogram. */
  value: number
  /** Of a histogram: values by bucket, and the upper bounds of all but the last. */
  counts?: number[]
  bounds?: number[]
}

export interface OtlpReceiver {
  url: string
  spans: ReceivedSpan[]
  metrics: ReceivedMetric[]
  requests: { path: string; headers: Headers; text: string }[]
  /** Statuses of the next responses; then 200. */
  statuses: number[]
  stop(): Promise<void>
}

/** An OTLP receiver on loopback, for JSON and protobuf. */
export function startOtlpReceiver(): OtlpReceiver {
  const state: Pick<OtlpReceiver, 'spans' | 'metrics' | 'requests' | 'statuses'> = {
    spans: [],
    metrics: [],
    requests: [],
    statuses: [],
  }
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => {
      const bytes = await request.bytes()
      state.requests.push({
        path: new URL(request.url).pathname,
        headers: request.headers,
        text: Buffer.from(bytes).toString('latin1'),
      })
      const status = state.statuses.shift() ?? 200
      const isJson = request.headers.get('content-type') === 'application/json'
      const isMetrics = new URL(request.url).pathname.endsWith('/metrics')
      if (status === 200 && isMetrics)
        state.metrics.push(...(isJson ? decodeJsonMetrics(bytes) : decodeProtobufMetrics(bytes)))
      else if (status === 200) state.spans.push(...(isJson ? decodeJson(bytes) : decodeProtobuf(bytes)))
      return new Response(null, { status })
    },
  })
  return { ...state, url: `http://127.0.0.1:${server.port}`, stop: () => server.stop(true) }
}

interface JsonSpan extends Pick<ReceivedSpan, 'traceId' | 'spanId' | 'name' | 'kind'> {
  parentSpanId?: string
  traceState?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: { key: string; value: Record<string, unknown> }[]
  status: { code: number }
}

function decodeJson(bytes: Uint8Array): ReceivedSpan[] {
  const { resourceSpans }: { resourceSpans: { scopeSpans: { spans: JsonSpan[] }[] }[] } = JSON.parse(
    Buffer.from(bytes).toString(),
  )
  const spans = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans).flatMap((scope) => scope.spans)
  return spans.map((span) => ({
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId ?? '',
    traceState: span.traceState ?? '',
    name: span.name,
    kind: span.kind,
    start: BigInt(span.startTimeUnixNano),
    end: BigInt(span.endTimeUnixNano),
    attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, Object.values(value)[0]])),
    code: span.status.code,
  }))
}

type Field = bigint | Uint8Array

/** The fields of a protobuf message by their number; every field as a list. */
function readMessage(bytes: Uint8Array): Map<number, Field[]> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const fields = new Map<number, Field[]>()
  let at = 0
  const readVarint = (): bigint => {
    for (let value = 0n, shift = 0n; ; shift += 7n) {
      const byte = view.getUint8(at++)
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
  }
  const readBytes = (length: number): Uint8Array => {
    at += length
    return bytes.subarray(at - length, at)
  }
  const readField = (wireType: number): Field => {
    if (wireType === 0) return readVarint()
    if (wireType === 2) return readBytes(Number(readVarint()))
    return readBytes(wireType === 1 ? 8 : 4)
  }
  while (at < bytes.length) {
    const tag = Number(readVarint())
    const number = tag >> 3
    fields.set(number, [...(fields.get(number) ?? []), readField(tag & 7)])
  }
  return fields
}

const bytesOf = (field: Field | undefined) => (field instanceof Uint8Array ? field : new Uint8Array())
const textOf = (field: Field | undefined) => Buffer.from(bytesOf(field)).toString()
const hexOf = (field: Field | undefined) => Buffer.from(bytesOf(field)).toString('hex')
const nested = (fields: Map<number, Field[]>, number: number) =>
  (fields.get(number) ?? []).map((field) => readMessage(bytesOf(field)))

const kinds = ['gauge', 'sum', 'histogram'] as const

interface JsonPoint {
  attributes: { key: string; value: Record<string, unknown> }[]
  asDouble?: number
  sum?: number
  bucketCounts?: (number | string)[]
  explicitBounds?: number[]
}

type JsonMetric = { name: string; unit: string } & Partial<
  Record<(typeof kinds)[number], { dataPoints: JsonPoint[] }>
>

function decodeJsonMetrics(bytes: Uint8Array): ReceivedMetric[] {
  const { resourceMetrics }: { resourceMetrics: { scopeMetrics: { metrics: JsonMetric[] }[] }[] } =
    JSON.parse(Buffer.from(bytes).toString())
  const all = resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics).flatMap(({ metrics }) => metrics)
  return all.map((metric) => {
    const kind = kinds.find((each) => metric[each] !== undefined) ?? 'gauge'
    const points = (metric[kind]?.dataPoints ?? []).map((point) => ({
      attributes: Object.fromEntries(
        point.attributes.map(({ key, value }) => [key, Object.values(value)[0]]),
      ),
      value: point.asDouble ?? point.sum ?? Number.NaN,
      ...(point.bucketCounts && {
        counts: point.bucketCounts.map(Number),
        bounds: point.explicitBounds ?? [],
      }),
    }))
    return { name: metric.name, unit: metric.unit, kind, points }
  })
}

/** Packed values of eight bytes. */
function readPacked<T>(field: Field | undefined, read: (buffer: Buffer, at: number) => T): T[] {
  const buffer = Buffer.from(bytesOf(field))
  return Array.from({ length: buffer.length / 8 }, (_, index) => read(buffer, index * 8))
}

/** The field numbers are those of opentelemetry-proto. */
function decodeProtobufMetrics(bytes: Uint8Array): ReceivedMetric[] {
  const numbers = { gauge: 5, sum: 7, histogram: 9 }
  const scopes = nested(readMessage(bytes), 1).flatMap((resource) => nested(resource, 2))
  return scopes
    .flatMap((scope) => nested(scope, 2))
    .map((metric) => {
      const kind = kinds.find((each) => metric.has(numbers[each])) ?? 'gauge'
      const isHistogram = kind === 'histogram'
      const points = nested(metric, numbers[kind])
        .flatMap((data) => nested(data, 1))
        .map((point) => ({
          attributes: readAttributes(nested(point, isHistogram ? 9 : 7)),
          value:
            readPacked(point.get(isHistogram ? 5 : 4)?.[0], (buffer, at) => buffer.readDoubleLE(at))[0] ?? 0,
          ...(isHistogram && {
            counts: readPacked(point.get(6)?.[0], (buffer, at) => Number(buffer.readBigUInt64LE(at))),
            bounds: readPacked(point.get(7)?.[0], (buffer, at) => buffer.readDoubleLE(at)),
          }),
        }))
      return { name: textOf(metric.get(1)?.[0]), unit: textOf(metric.get(3)?.[0]), kind, points }
    })
}

function readAttributes(pairs: Map<number, Field[]>[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => [textOf(pair.get(1)?.[0]), readValue(nested(pair, 2)[0] ?? new Map())]),
  )
}

/** The field numbers are those of opentelemetry-proto. */
function decodeProtobuf(bytes: Uint8Array): ReceivedSpan[] {
  const scopes = nested(readMessage(bytes), 1).flatMap((resource) => nested(resource, 2))
  return scopes
    .flatMap((scope) => nested(scope, 2))
    .map((span) => {
      const first = (number: number) => span.get(number)?.[0]
      return {
        traceId: hexOf(first(1)),
        spanId: hexOf(first(2)),
        traceState: textOf(first(3)),
        parentSpanId: hexOf(first(4)),
        name: textOf(first(5)),
        kind: Number(first(6) ?? 0),
        start: Buffer.from(bytesOf(first(7))).readBigUInt64LE(),
        end: Buffer.from(bytesOf(first(8))).readBigUInt64LE(),
        attributes: readAttributes(nested(span, 9)),
        code: Number(nested(span, 15)[0]?.get(3)?.[0] ?? 0),
      }
    })
}

function readValue(value: Map<number, Field[]>): unknown {
  const [[number, [field]] = [0, []]] = [...value]
  if (number === 1) return textOf(field)
  if (number === 2) return field === 1n
  return number === 3 ? Number(field) : Buffer.from(bytesOf(field)).readDoubleLE()
}
