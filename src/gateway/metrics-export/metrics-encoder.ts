import type { MetricsExportConfig } from '../../config.ts'
import { createOtelResource } from '../../platform/tracing/otel-span.ts'
import { version } from '../../platform/version.ts'
import type { MetricData } from '../worker-protocol.ts'

type Otlp = typeof import('@opentelemetry/otlp-transformer')
type ResourceMetrics = Parameters<Otlp['JsonMetricsSerializer']['serializeRequest']>[0]
type Metric = ResourceMetrics['scopeMetrics'][number]['metrics'][number]

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

/** The library is loaded only where metrics are exported. */
export async function loadMetricsEncoder(
  { protocol, serviceName }: MetricsExportConfig,
  instanceId: string,
): Promise<MetricsEncoder> {
  const otlp = await import('@opentelemetry/otlp-transformer')
  const isJson = protocol === 'http/json'
  const serializer = isJson ? otlp.JsonMetricsSerializer : otlp.ProtobufMetricsSerializer
  const resource = createOtelResource({
    'service.name': serviceName,
    'service.version': version,
    'service.instance.id': instanceId,
  })
  return {
    contentType: isJson ? 'application/json' : 'application/x-protobuf',
    encode: (metrics, times) => {
      const encoded = metrics.flatMap((metric) => toOtelMetric(metric, times))
      const scopeMetrics = [{ scope: { name: 'headgate', version }, metrics: encoded }]
      const bytes = serializer.serializeRequest({ resource, scopeMetrics })
      if (!bytes) throw new Error('metrics could not be encoded')
      return bytes
    },
  }
}

/** Values of the library's enumerations, which would load more of it. */
const [histogramKind, gaugeKind, sumKind] = [0, 2, 3] as const
const doubleType = 1
const cumulative = 1

/** None for a metric without values. */
function toOtelMetric({ name, help, type, values }: MetricData, times: Times): Metric[] {
  const common = {
    descriptor: { name, description: help, unit: unitOf(name), valueType: doubleType },
    aggregationTemporality: cumulative,
  } as const
  const interval = { startTime: toHrTime(times.startedAt), endTime: toHrTime(times.at) }
  if (type === 'histogram') {
    const dataPoints = readHistograms(name, values).map((point) => ({ ...interval, ...point }))
    return dataPoints.length === 0 ? [] : [{ ...common, dataPointType: histogramKind, dataPoints }]
  }
  const dataPoints = values
    .filter(({ value }) => Number.isFinite(value))
    .map(({ labels, value }) => ({ ...interval, attributes: toAttributes(labels), value }))
  if (dataPoints.length === 0) return []
  if (type === 'counter') return [{ ...common, dataPointType: sumKind, isMonotonic: true, dataPoints }]
  return [{ ...common, dataPointType: gaugeKind, dataPoints }]
}

/** Prometheus has the unit in the name. */
function unitOf(name: string): string {
  const [, unit] = /_(seconds|bytes|usd)(?:_total)?$/.exec(name) ?? []
  if (unit === undefined) return ''
  return unit === 'usd' ? '{USD}' : unit === 'bytes' ? 'By' : 's'
}

function toHrTime(ms: number): [number, number] {
  return [Math.floor(ms / 1000), (ms % 1000) * 1_000_000]
}

/** OTLP has texts and numbers; labels of Prometheus are texts. */
function toAttributes(labels: Readonly<Record<string, string | number>>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)]))
}

interface Histogram {
  attributes: Record<string, string>
  value: { buckets: { boundaries: number[]; counts: number[] }; sum: number; count: number }
}

/** Buckets of Prometheus count all values up to their bound; those of OTLP the values since the bound before. */
function readHistograms(name: string, values: MetricData['values']): Histogram[] {
  const found = new Map<string, Histogram & { total: number }>()
  for (const { metricName, labels, value } of values) {
    const { le, ...own } = labels
    const attributes = toAttributes(own)
    const key = JSON.stringify(attributes)
    const histogram = found.get(key) ?? {
      attributes,
      total: 0,
      value: { buckets: { boundaries: [], counts: [] }, sum: 0, count: 0 },
    }
    found.set(key, histogram)
    const { buckets } = histogram.value
    if (metricName === `${name}_sum`) histogram.value.sum = value
    else if (metricName === `${name}_count`) histogram.value.count = value
    else {
      buckets.counts.push(value - histogram.total)
      histogram.total = value
      if (le !== '+Inf') buckets.boundaries.push(Number(le))
    }
  }
  return [...found.values()].map(({ attributes, value }) => ({ attributes, value }))
}
