import type { Exemplar, MetricData, MetricLabels, NativeHistogram } from './metric-data.ts'

/** A histogram of one set of labels. */
export interface Histogram {
  labels: MetricLabels
  buckets: Bucket[]
  sum: number
  count: number
  native: NativeHistogram | null
}

interface Bucket {
  /** The upper one, which may be infinite. */
  bound: number
  /** Values above the bound of the bucket before. */
  count: number
  exemplar?: Exemplar
}

/** The histograms of a metric: its buckets count all values up to their bound. */
export function readHistograms({ name, values, native = [] }: MetricData): Histogram[] {
  const natives = new Map(native.map((each) => [keyOf(each.labels), each]))
  const found = new Map<string, Histogram & { total: number }>()
  for (const { metricName, labels, value, exemplar } of values) {
    const { le, ...own } = labels
    const key = keyOf(own)
    const histogram = found.get(key) ?? {
      labels: own,
      buckets: [],
      total: 0,
      sum: 0,
      count: 0,
      native: natives.get(key) ?? null,
    }
    found.set(key, histogram)
    if (metricName === `${name}_sum`) histogram.sum = value
    else if (metricName === `${name}_count`) histogram.count = value
    else {
      const bound = le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le)
      histogram.buckets.push({ bound, count: value - histogram.total, ...(exemplar && { exemplar }) })
      histogram.total = value
    }
  }
  return [...found.values()].map(({ total: _, ...histogram }) => histogram)
}

/** Identifies a set of labels, whatever their order. */
export function keyOf(labels: MetricLabels): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)))
}
