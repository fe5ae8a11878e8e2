import type { MetricsExportConfig } from '../../config.ts'
import { encodeMessage } from '../../platform/protobuf/message.ts'
import { version } from '../../platform/version.ts'
import { type Histogram, readHistograms } from '../exposition/histograms.ts'
import type { Exemplar, MetricData, MetricLabels } from '../exposition/metric-data.ts'
import { exportRequest } from './otlp-schema.ts'

export interface Times {
  /** Milliseconds: the start of the counts, and now. */
  startedAt: number
  at: number
}

/** Encodes metrics as the body of an OTLP request. */
export interface MetricsEncoder {
  contentType: string
  encode(metrics: readonly MetricData[], times: Times): Uint8Array
}

/** Not with OpenTelemetry's encoder, which leaves out exemplars. */
export function createMetricsEncoder(
  { protocol, serviceName, histograms }: MetricsExportConfig,
  instanceId: string,
): MetricsEncoder {
  const isJson = protocol === 'http/json'
  const attributes = toAttributes({
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': instanceId,
  })
  const toPoint = histograms === 'exponential' ? toExponentialPoint : toExplicitPoint
  return {
    contentType: isJson ? 'application/json' : 'application/x-protobuf',
    encode: (metrics, times) => {
      const encoded = metrics.flatMap((metric) => toOtelMetric(metric, times, toPoint))
      const scopeMetrics = [{ scope: { name: 'headgate', version }, metrics: encoded }]
      const request = { resourceMetrics: [{ resource: { attributes }, scopeMetrics }] }
      return isJson ? Buffer.from(JSON.stringify(request)) : encodeMessage(exportRequest, request)
    },
  }
}

const cumulative = 2

type Interval = ReturnType<typeof toInterval>
type ToPoint = (histogram: Histogram, interval: Interval) => { kind: HistogramKind; point: object }
type HistogramKind = 'histogram' | 'exponentialHistogram'

/** None for a metric without values. */
function toOtelMetric(metric: MetricData, times: Times, toPoint: ToPoint): object[] {
  const { name, help: description, type, values } = metric
  const common = { name, description, unit: unitOf(name) }
  const interval = toInterval(times)
  const aggregationTemporality = cumulative
  if (type === 'histogram') {
    const points = readHistograms(metric).map((each) => toPoint(each, interval))
    const [first] = points
    if (!first) return []
    const dataPoints = points.map(({ point }) => point)
    return [{ ...common, [first.kind]: { dataPoints, aggregationTemporality } }]
  }
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...interval, asDouble: value, attributes: toAttributes(labels) }))
  if (dataPoints.length === 0) return []
  if (type === 'counter')
    return [{ ...common, sum: { dataPoints, aggregationTemporality, isMonotonic: true } }]
  return [{ ...common, gauge: { dataPoints } }]
}

/** Prometheus has the unit in the name. */
function unitOf(name: string): string {
  const [, unit] = /_(seconds|bytes|usd)(?:_total)?$/.exec(name) ?? []
  if (unit === undefined) return ''
  return unit === 'usd' ? '{USD}' : unit === 'bytes' ? 'By' : 's'
}

function toInterval({ startedAt, at }: Times) {
  return { startTimeUnixNano: toNanos(startedAt), timeUnixNano: toNanos(at) }
}

function toNanos(ms: number): string {
  return String(BigInt(Math.round(ms * 1000)) * 1000n)
}

/** OTLP has texts and numbers; labels of Prometheus are texts. */
function toAttributes(labels: MetricLabels): object[] {
  return Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }))
}

function toExplicitPoint(
  { labels, sum, count, buckets }: Histogram,
  interval: Interval,
): ReturnType<ToPoint> {
  const point = {
    ...interval,
    count,
    sum,
    bucketCounts: buckets.map((bucket) => bucket.count),
    explicitBounds: buckets.map(({ bound }) => bound).filter(Number.isFinite),
    exemplars: listExemplars(buckets),
    attributes: toAttributes(labels),
  }
  return { kind: 'histogram', point }
}

/** One that is counted in explicit buckets only keeps them. */
function toExponentialPoint(histogram: Histogram, interval: Interval): ReturnType<ToPoint> {
  const { labels, buckets, native } = histogram
  if (!native) return toExplicitPoint(histogram, interval)
  const { sum, count, schema, zeroThreshold, zeroCount, offset, counts } = native
  const point = {
    ...interval,
    count,
    sum,
    scale: schema,
    zeroCount,
    // OTLP names a bucket by its lower bound.
    positive: { offset: offset - 1, bucketCounts: counts },
    exemplars: listExemplars(buckets),
    zeroThreshold,
    attributes: toAttributes(labels),
  }
  return { kind: 'exponentialHistogram', point }
}

function listExemplars(buckets: Histogram['buckets']): object[] {
  return buckets
    .flatMap(({ exemplar }) => exemplar ?? [])
    .map(({ traceId, spanId, value, at }: Exemplar) => ({
      timeUnixNano: toNanos(at),
      asDouble: value,
      spanId,
      traceId,
    }))
}
