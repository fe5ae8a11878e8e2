import type { Schema } from '../../platform/protobuf/message.ts'

// The part of opentelemetry-proto's metrics that is exported. The names are those of OTLP as JSON.

const anyValue: Schema = { stringValue: [1, 'string'] }
const keyValue: Schema = { key: [1, 'string'], value: [2, () => anyValue] }

const exemplar: Schema = {
  timeUnixNano: [2, 'fixed64'],
  asDouble: [3, 'double'],
  spanId: [4, 'hex'],
  traceId: [5, 'hex'],
}

const interval: Schema = { startTimeUnixNano: [2, 'fixed64'], timeUnixNano: [3, 'fixed64'] }

const numberPoint: Schema = { ...interval, asDouble: [4, 'double'], attributes: [7, () => keyValue] }

const histogramPoint: Schema = {
  ...interval,
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  bucketCounts: [6, 'fixed64'],
  explicitBounds: [7, 'double'],
  exemplars: [8, () => exemplar],
  attributes: [9, () => keyValue],
}

const exponentialBuckets: Schema = { offset: [1, 'sint'], bucketCounts: [2, 'uint64'] }

const exponentialPoint: Schema = {
  ...interval,
  attributes: [1, () => keyValue],
  count: [4, 'fixed64'],
  sum: [5, 'double'],
  scale: [6, 'sint'],
  zeroCount: [7, 'fixed64'],
  positive: [8, () => exponentialBuckets],
  exemplars: [11, () => exemplar],
  zeroThreshold: [14, 'double'],
}

const gauge: Schema = { dataPoints: [1, () => numberPoint] }
const sum: Schema = { ...gauge, aggregationTemporality: [2, 'enum'], isMonotonic: [3, 'bool'] }
const histogram: Schema = { dataPoints: [1, () => histogramPoint], aggregationTemporality: [2, 'enum'] }
const exponentialHistogram: Schema = {
  dataPoints: [1, () => exponentialPoint],
  aggregationTemporality: [2, 'enum'],
}

const metric: Schema = {
  name: [1, 'string'],
  description: [2, 'string'],
  unit: [3, 'string'],
  gauge: [5, () => gauge],
  sum: [7, () => sum],
  histogram: [9, () => histogram],
  exponentialHistogram: [10, () => exponentialHistogram],
}

const scope: Schema = { name: [1, 'string'], version: [2, 'string'] }
const scopeMetrics: Schema = { scope: [1, () => scope], metrics: [2, () => metric] }
const resource: Schema = { attributes: [1, () => keyValue] }
const resourceMetrics: Schema = { resource: [1, () => resource], scopeMetrics: [2, () => scopeMetrics] }

/** `ExportMetricsServiceRequest`. */
export const exportRequest: Schema = { resourceMetrics: [1, () => resourceMetrics] }
