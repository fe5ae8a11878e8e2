import type { Group } from '../../../analytics/rollups/aggregator.ts'
import type { HistogramName, MeasureName } from '../../../ledger/usage-record.ts'
import { throughputScale } from '../../../ledger/usage-record.ts'
import { usdFromNanos } from '../../../platform/money/money.ts'

export const displayFormats = ['number', 'currency', 'percent', 'latency', 'throughput'] as const

/** A group, with the number of its requests that failed or were canceled, where a metric reads it. */
export interface CountedGroup extends Group {
  failures?: bigint
}

export interface Metric {
  name: string
  label: string
  format: (typeof displayFormats)[number]
  /** Limited to queries of at most 31 days; others may cover 365. */
  isShort: boolean
  isRate: boolean
  measures: readonly MeasureName[]
  spreads: readonly HistogramName[]
  readsFailures?: true
  value: (group: CountedGroup) => number | null
}

type MetricTraits = Partial<Pick<Metric, 'isShort' | 'isRate'>>

function countMetric(name: string, label: string, ...measures: MeasureName[]): Metric {
  const value = (group: Group) => Number(sumMeasures(group, measures))
  return { ...defaultTraits, name, label, format: 'number', measures, value }
}

function costMetric(name: string, label: string, measures: MeasureName[], traits: MetricTraits = {}): Metric {
  const value = (group: Group) => usdFromNanos(sumMeasures(group, measures))
  return { ...defaultTraits, ...traits, name, label, format: 'currency', measures, value }
}

/** Creates a metric for which no data is recorded. */
function unavailableMetric(
  name: string,
  label: string,
  format: Metric['format'],
  traits: MetricTraits = {},
): Metric {
  return { ...defaultTraits, ...traits, name, label, format, value: () => null }
}

function spreadMetric(name: string, label: string, of: HistogramName, quantile: number | null): Metric {
  const scale = of === 'throughput' ? throughputScale : 1
  const value = (group: Group) => {
    const result = quantile === null ? group.average(of) : group.percentile(of, quantile)
    return result === null ? null : result / scale
  }
  return { ...defaultTraits, name, label, format: of, isShort: true, isRate: true, spreads: [of], value }
}

/** Creates a metric of requests that failed or were canceled. */
function failureMetric(
  name: string,
  label: string,
  traits: Pick<Metric, 'format' | 'isRate' | 'value'>,
): Metric {
  return { ...defaultTraits, name, label, isShort: true, readsFailures: true, ...traits }
}

const defaultTraits = { isShort: false, isRate: false, measures: [], spreads: [] } as const
const shortRange = { isShort: true }
const shortRangeRate = { isShort: true, isRate: true }

function sumMeasures(group: Group, measures: readonly MeasureName[]): bigint {
  return measures.reduce((sum, measure) => sum + group.sum(measure), 0n)
}

export const requestCount = countMetric('request_count', 'Requests', 'requests')

export const metrics: readonly Metric[] = [
  requestCount,
  failureMetric('error_count', 'Errors', {
    format: 'number',
    isRate: false,
    value: ({ failures = 0n }) => Number(failures),
  }),
  failureMetric('error_rate', 'Error rate', {
    format: 'percent',
    isRate: true,
    value: (group) => computeRatio(group.failures ?? 0n, group.sum('requests')),
  }),
  countMetric('tokens_total', 'Tokens', 'prompt', 'completion'),
  countMetric('tokens_prompt', 'Prompt tokens', 'prompt'),
  countMetric('tokens_completion', 'Completion tokens', 'completion'),
  countMetric('reasoning_tokens', 'Reasoning tokens', 'reasoning'),
  countMetric('cached_tokens', 'Cached tokens', 'cached'),
  countMetric('byok_request_count', 'BYOK requests', 'byok_requests'),
  unavailableMetric('guardrail_invoked_count', 'Guardrail invocations', 'number', shortRange),
  unavailableMetric('response_cached_count', 'Cached responses', 'number', shortRange),
  costMetric('total_usage', 'Usage with BYOK', ['credits', 'byok_fees', 'byok_upstream']),
  costMetric('credits_usage', 'Credits used', ['credits', 'byok_fees']),
  costMetric('byok_usage', 'BYOK usage', ['byok_upstream']),
  costMetric('usage_upstream', 'Usage at list prices', ['upstream', 'byok_upstream']),
  costMetric('cache_savings', 'Saved by prompt caches', ['cache_savings']),
  unavailableMetric('usage_cache', 'Caching', 'currency'),
  unavailableMetric('usage_data', 'Data discount', 'currency'),
  unavailableMetric('usage_web', 'Web search', 'currency'),
  unavailableMetric('usage_upstream_web', 'Web search at list prices', 'currency'),
  costMetric('service_usage', 'Usage without BYOK', ['credits'], shortRange),
  costMetric('byok_fees', 'BYOK fees', ['byok_fees'], shortRange),
  unavailableMetric('usage_file', 'Files', 'currency', shortRange),
  unavailableMetric('usage_upstream_file', 'Files at list prices', 'currency', shortRange),
  unavailableMetric('usage_web_fetch', 'Web fetch', 'currency', shortRange),
  unavailableMetric('usage_upstream_web_fetch', 'Web fetch at list prices', 'currency', shortRange),
  spreadMetric('avg_latency', 'Latency, average', 'latency', null),
  spreadMetric('p50_latency', 'Latency, median', 'latency', 0.5),
  spreadMetric('p90_latency', 'Latency, p90', 'latency', 0.9),
  spreadMetric('p95_latency', 'Latency, p95', 'latency', 0.95),
  spreadMetric('p99_latency', 'Latency, p99', 'latency', 0.99),
  spreadMetric('avg_throughput', 'Throughput, average', 'throughput', null),
  spreadMetric('p50_throughput', 'Throughput, median', 'throughput', 0.5),
  spreadMetric('p90_throughput', 'Throughput, p90', 'throughput', 0.9),
  spreadMetric('p95_throughput', 'Throughput, p95', 'throughput', 0.95),
  spreadMetric('p99_throughput', 'Throughput, p99', 'throughput', 0.99),
  {
    ...defaultTraits,
    name: 'cache_hit_rate',
    label: 'Cache hit rate',
    format: 'percent',
    isRate: true,
    measures: ['cached', 'prompt'],
    value: (group) => computeRatio(group.sum('cached'), group.sum('prompt')),
  },
  unavailableMetric('guardrail_invoked_rate', 'Guardrail invocation rate', 'percent', shortRangeRate),
  unavailableMetric('response_cached_rate', 'Cached response rate', 'percent', shortRangeRate),
]

function computeRatio(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number(part) / Number(whole)
}

export const metricsByName: ReadonlyMap<string, Metric> = new Map(
  metrics.map((metric) => [metric.name, metric]),
)
