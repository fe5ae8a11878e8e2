import { encodeDelimited, type Schema } from '../../platform/protobuf/message.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { type Histogram, readHistograms } from './histograms.ts'
import type { Exemplar, MetricData, MetricLabels, MetricValue, NativeHistogram } from './metric-data.ts'

const labelPair: Schema = { name: [1, 'string'], value: [2, 'string'] }
const timestamp: Schema = { seconds: [1, 'int64'], nanos: [2, 'int64'] }
const exemplarSchema: Schema = {
  label: [1, () => labelPair],
  value: [2, 'double'],
  timestamp: [3, () => timestamp],
}
const bucket: Schema = {
  cumulative_count: [1, 'uint64'],
  upper_bound: [2, 'double'],
  exemplar: [3, () => exemplarSchema],
}
const bucketSpan: Schema = { offset: [1, 'sint'], length: [2, 'uint64'] }
const histogram: Schema = {
  sample_count: [1, 'uint64'],
  sample_sum: [2, 'double'],
  bucket: [3, () => bucket],
  schema: [5, 'sint'],
  zero_threshold: [6, 'double'],
  zero_count: [7, 'uint64'],
  positive_span: [12, () => bucketSpan],
  positive_delta: [13, 'sint'],
  exemplars: [16, () => exemplarSchema],
}
const single: Schema = { value: [1, 'double'] }
const metricSchema: Schema = {
  label: [1, () => labelPair],
  gauge: [2, () => single],
  counter: [3, () => single],
  histogram: [7, () => histogram],
}

/** `MetricFamily` of io.prometheus.client. */
const family: Schema = {
  name: [1, 'string'],
  help: [2, 'string'],
  type: [3, 'enum'],
  metric: [4, () => metricSchema],
}

const types: Readonly<Record<string, number>> = { counter: 0, gauge: 1, histogram: 4 }

/** Values that are encoded before others may run. */
const valuesPerSlice = 1000

/** The protobuf format of Prometheus, the only one with native histograms. */
export async function renderProtobuf(metrics: readonly MetricData[]): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let values = 0
  for (const metric of metrics) {
    const { name, help, type } = metric
    const kind = types[String(type)]
    if (kind === undefined || metric.values.length === 0) continue
    parts.push(encodeDelimited(family, { name, help, type: kind, metric: describeMetrics(metric) }))
    values += metric.values.length
    if (values < valuesPerSlice) continue
    values = 0
    await yieldToEventLoop()
  }
  return Buffer.concat(parts)
}

function describeMetrics(metric: MetricData): object[] {
  if (metric.type === 'histogram')
    return readHistograms(metric).map((each) => ({
      label: toPairs(each.labels),
      histogram: toHistogram(each),
    }))
  return metric.values.map(({ labels, value }: MetricValue) => ({
    label: toPairs(labels),
    ...(metric.type === 'counter' ? { counter: { value } } : { gauge: { value } }),
  }))
}

/** With the buckets of both kinds: the scraper chooses. */
function toHistogram({ sum, count, buckets, native }: Histogram): object {
  let total = 0
  return {
    sample_count: count,
    sample_sum: sum,
    bucket: buckets.map(({ bound, count: own, exemplar }) => {
      total += own
      return {
        cumulative_count: total,
        upper_bound: bound,
        exemplar: exemplar && toExemplar(exemplar),
      }
    }),
    ...(native && {
      ...toNative(native),
      exemplars: buckets.flatMap(({ exemplar }) => (exemplar ? [toExemplar(exemplar)] : [])),
    }),
  }
}

function toNative({ schema, zeroThreshold, zeroCount, offset, counts }: NativeHistogram): object {
  return {
    schema,
    zero_threshold: zeroThreshold,
    zero_count: zeroCount,
    // A span without buckets says that the histogram is a native one, also if it has only small values.
    positive_span: [{ offset: counts.length > 0 ? offset : 0, length: counts.length }],
    positive_delta: counts.map((count, index) => count - (counts[index - 1] ?? 0)),
  }
}

function toExemplar({ traceId, spanId, value, at }: Exemplar): object {
  const seconds = Math.floor(at / 1000)
  return {
    label: toPairs({ trace_id: traceId, span_id: spanId }),
    value,
    timestamp: { seconds, nanos: Math.round((at - seconds * 1000) * 1e6) },
  }
}

function toPairs(labels: MetricLabels): object[] {
  return Object.entries(labels).map(([name, value]) => ({ name, value: String(value) }))
}
