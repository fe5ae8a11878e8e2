import type { Schemas } from '../../api/client.ts'
import { formatMoney } from '../../format/money.ts'
import { formatCompact, formatCount, formatDuration, formatShare } from '../../format/number.ts'

type ApiMetric = Schemas['AnalyticsQueryRequest']['metrics'][number]

export interface Metric {
  label: string
  /** A definition for somebody who sees the metric for the first time. */
  meaning: string
  field: ApiMetric
  format: (value: number) => string
  /** Whether the values of groups add up to that of all. */
  isAdditive: boolean
  /** Only for ranges of at most 31 days. */
  isShort: boolean
  isOnlyFailures?: true
}

const additive = { isAdditive: true, isShort: false }

export const metrics = {
  spend: {
    ...additive,
    label: 'Spend',
    meaning: 'Credits used, and what your own provider keys cost at list prices.',
    field: 'total_usage',
    format: formatMoney,
  },
  requests: {
    ...additive,
    label: 'Requests',
    meaning: 'Requests that reached a provider, however they ended.',
    field: 'request_count',
    format: formatCount,
  },
  tokens: {
    ...additive,
    label: 'Tokens',
    meaning: 'Prompt and completion tokens, as the provider counted them.',
    field: 'tokens_total',
    format: formatCompact,
  },
  errors: {
    isAdditive: true,
    isShort: true,
    label: 'Errors',
    meaning: 'Requests that reached a provider and failed, or were canceled before the end.',
    field: 'request_count',
    format: formatCount,
    isOnlyFailures: true,
  },
  latency: {
    isAdditive: false,
    isShort: true,
    label: 'Median latency',
    meaning: 'Time to the first token, or to the whole reply if it was not streamed. Without failures.',
    field: 'p50_latency',
    format: formatDuration,
  },
  throughput: {
    isAdditive: false,
    isShort: true,
    label: 'Median throughput',
    meaning: 'Completion tokens per second after the first. Without failures.',
    field: 'p50_throughput',
    format: (value) => `${formatCompact(value)} tokens/s`,
  },
  cached: {
    ...additive,
    label: 'Cached tokens',
    meaning: 'Prompt tokens read from the cache of a provider, which charges less for them.',
    field: 'cached_tokens',
    format: formatCompact,
  },
  cache_rate: {
    isAdditive: false,
    isShort: false,
    label: 'Cache hit rate',
    meaning: 'The share of prompt tokens that were read from the cache of a provider.',
    field: 'cache_hit_rate',
    format: formatShare,
  },
} satisfies Record<string, Metric>

export type MetricName = keyof typeof metrics

export const metricNames = Object.keys(metrics) as MetricName[]

export function metricOf(name: MetricName): Metric {
  return metrics[name]
}
