/** A metric in the form of prom-client's `getMetricsAsJSON`. */
export interface MetricData {
  name: string
  help: string
  type: unknown
  /** How the values of several processes become one. */
  aggregator: string
  values: MetricValue[]
  /** The same values of a histogram in exponential buckets, where they are counted. */
  native?: NativeHistogram[]
}

export interface MetricValue {
  value: number
  labels: MetricLabels
  metricName?: string
  /** Of a bucket: the last of its values that belongs to a trace. */
  exemplar?: Exemplar
}

export type MetricLabels = Readonly<Record<string, string | number>>

/** A value, and the trace of the request that it is of. */
export interface Exemplar {
  traceId: string
  spanId: string
  value: number
  /** Milliseconds since the epoch. */
  at: number
}

/** A histogram of buckets whose bounds grow by the same factor. */
export interface NativeHistogram {
  labels: MetricLabels
  /** Each power of two has 2^schema buckets. */
  schema: number
  /** Values up to this one are counted together. */
  zeroThreshold: number
  zeroCount: number
  /** The first bucket in the numbering of Prometheus: bucket `n` has values up to `2 ** (n / 2 ** schema)`. */
  offset: number
  /** None at the beginning or at the end is zero. */
  counts: number[]
  sum: number
  count: number
}
