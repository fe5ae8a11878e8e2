import type { Schemas } from '../../api/client.ts'
import { formatMoney } from '../../format/money.ts'
import { formatCompact, formatCount, formatDuration, formatShare } from '../../format/number.ts'

type ApiMetric = Schemas['AnalyticsQueryRequest']['metrics'][number]

export interface Metric {
  label: string
  field: ApiMetric
  format: (value: number) => string
  /** Labels of an axis, if there is no room for the unit. */
  formatAxis?: (value: number) => string
  /** Whether the values of groups add up to that of all. */
  isAdditive: boolean
  /** Only for ranges of at most 31 days. */
  isShort: boolean
}

const additive = { isAdditive: true, isShort: false }
const rate = { isAdditive: false, isShort: true }

export const metrics = {
  spend: { ...additive, label: 'Spend', field: 'total_usage', format: formatMoney },
  requests: { ...additive, label: 'Requests', field: 'request_count', format: formatCount },
  tokens: { ...additive, label: 'Tokens', field: 'tokens_total', format: formatCompact },
  errors: { ...additive, isShort: true, label: 'Errors', field: 'error_count', format: formatCount },
  error_rate: { ...rate, label: 'Error rate', field: 'error_rate', format: formatShare },
  latency_p50: { ...rate, label: 'Latency p50', field: 'p50_latency', format: formatDuration },
  latency_p95: { ...rate, label: 'Latency p95', field: 'p95_latency', format: formatDuration },
  cache_savings: { ...additive, label: 'Cache savings', field: 'cache_savings', format: formatMoney },
  cache_rate: {
    ...rate,
    isShort: false,
    label: 'Cache hit rate',
    field: 'cache_hit_rate',
    format: formatShare,
  },
  throughput: {
    ...rate,
    label: 'Throughput',
    field: 'p50_throughput',
    format: (value) => `${formatCompact(value)} tokens/s`,
    formatAxis: formatCompact,
  },
} satisfies Record<string, Metric>

export type MetricName = keyof typeof metrics

export const metricNames = Object.keys(metrics) as MetricName[]

export function metricOf(name: MetricName): Metric {
  return metrics[name]
}

/** Metrics that say which groups are the largest. */
export const rankings = ['spend', 'requests', 'tokens', 'errors'] as const satisfies MetricName[]
export type RankingName = (typeof rankings)[number]

export interface ChartDefinition {
  title: string
  /** A definition for somebody who sees the chart for the first time. */
  meaning: string
  /** Lines of one chart. A chart of groups has one line for each, so it shows one of these. */
  metrics: readonly [MetricName, ...MetricName[]]
  /** Statuses of the requests behind the values, if it is not all of them. */
  status?: string
  /** A number below the title that says how much is behind a rate. */
  detail?: MetricName
}

export const charts: readonly ChartDefinition[] = [
  {
    title: 'Spend',
    meaning: 'Credits used, and what your own provider keys cost at list prices.',
    metrics: ['spend'],
  },
  {
    title: 'Requests',
    meaning: 'Requests that reached a provider, however they ended.',
    metrics: ['requests'],
  },
  {
    title: 'Error rate',
    meaning: 'The share of requests that failed at a provider, or were canceled before the end.',
    metrics: ['error_rate'],
    status: 'failed,cancelled',
    detail: 'errors',
  },
  {
    title: 'Latency',
    meaning: 'Time to the first token, or to the whole reply if it was not streamed. Without failures.',
    metrics: ['latency_p95', 'latency_p50'],
  },
  {
    title: 'Tokens',
    meaning: 'Input and output tokens, as the provider counted them.',
    metrics: ['tokens'],
  },
  {
    title: 'Cache savings',
    meaning: 'What the prompt caches of providers saved. Negative if writing to them cost more.',
    metrics: ['cache_savings'],
  },
  {
    title: 'Cache hit rate',
    meaning: 'The share of input tokens that were read from the cache of a provider.',
    metrics: ['cache_rate'],
  },
  {
    title: 'Throughput',
    meaning: 'Output tokens per second after the first, in the median. Without failures.',
    metrics: ['throughput'],
  },
]
