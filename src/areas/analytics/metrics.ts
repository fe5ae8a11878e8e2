import { usdFromNanos } from '../../ledger/money.ts'
import type { MeasureName, SpreadName } from '../../ledger/rollups/facts.ts'
import { throughputScale } from '../../ledger/rollups/facts.ts'
import type { Group } from '../../ledger/rollups/tally.ts'

export const displayFormats = ['number', 'currency', 'percent', 'latency', 'throughput'] as const

export interface Metric {
  name: string
  label: string
  format: (typeof displayFormats)[number]
  /** May be asked for at most 31 days; others for 365. */
  isShort: boolean
  isRate: boolean
  measures: readonly MeasureName[]
  spreads: readonly SpreadName[]
  value: (group: Group) => number | null
}

type Traits = Partial<Pick<Metric, 'isShort' | 'isRate'>>

function count(name: string, label: string, ...measures: MeasureName[]): Metric {
  const value = (group: Group) => Number(sumOf(group, measures))
  return { ...plain, name, label, format: 'number', measures, value }
}

function cost(name: string, label: string, measures: MeasureName[], traits: Traits = {}): Metric {
  const value = (group: Group) => usdFromNanos(sumOf(group, measures))
  return { ...plain, ...traits, name, label, format: 'currency', measures, value }
}

/** Nothing is recorded that it could be computed from. */
function unknown(name: string, label: string, format: Metric['format'], traits: Traits = {}): Metric {
  return { ...plain, ...traits, name, label, format, value: () => null }
}

function spread(name: string, label: string, of: SpreadName, share: number | null): Metric {
  const scale = of === 'throughput' ? throughputScale : 1
  const value = (group: Group) => {
    const figure = share === null ? group.average(of) : group.percentile(of, share)
    return figure === null ? null : figure / scale
  }
  return { ...plain, name, label, format: of, isShort: true, isRate: true, spreads: [of], value }
}

const plain = { isShort: false, isRate: false, measures: [], spreads: [] } as const
const short = { isShort: true }
const shortRate = { isShort: true, isRate: true }

function sumOf(group: Group, measures: readonly MeasureName[]): bigint {
  return measures.reduce((sum, measure) => sum + group.sum(measure), 0n)
}

export const requestCount = count('request_count', 'Requests', 'requests')

export const metrics: readonly Metric[] = [
  requestCount,
  count('tokens_total', 'Tokens', 'prompt', 'completion'),
  count('tokens_prompt', 'Prompt tokens', 'prompt'),
  count('tokens_completion', 'Completion tokens', 'completion'),
  count('reasoning_tokens', 'Reasoning tokens', 'reasoning'),
  count('cached_tokens', 'Cached tokens', 'cached'),
  count('byok_request_count', 'BYOK requests', 'byok_requests'),
  unknown('guardrail_invoked_count', 'Guardrail invocations', 'number', short),
  unknown('response_cached_count', 'Cached responses', 'number', short),
  cost('total_usage', 'Usage with BYOK', ['credits', 'byok_fees', 'byok_upstream']),
  cost('credits_usage', 'Credits used', ['credits', 'byok_fees']),
  cost('byok_usage', 'BYOK usage', ['byok_upstream']),
  cost('usage_upstream', 'Usage at list prices', ['upstream', 'byok_upstream']),
  unknown('usage_cache', 'Caching', 'currency'),
  unknown('usage_data', 'Data discount', 'currency'),
  unknown('usage_web', 'Web search', 'currency'),
  unknown('usage_upstream_web', 'Web search at list prices', 'currency'),
  cost('service_usage', 'Usage without BYOK', ['credits'], short),
  cost('byok_fees', 'BYOK fees', ['byok_fees'], short),
  unknown('usage_file', 'Files', 'currency', short),
  unknown('usage_upstream_file', 'Files at list prices', 'currency', short),
  unknown('usage_web_fetch', 'Web fetch', 'currency', short),
  unknown('usage_upstream_web_fetch', 'Web fetch at list prices', 'currency', short),
  spread('avg_latency', 'Latency, average', 'latency', null),
  spread('p50_latency', 'Latency, median', 'latency', 0.5),
  spread('p90_latency', 'Latency, p90', 'latency', 0.9),
  spread('p99_latency', 'Latency, p99', 'latency', 0.99),
  spread('avg_throughput', 'Throughput, average', 'throughput', null),
  spread('p50_throughput', 'Throughput, median', 'throughput', 0.5),
  spread('p90_throughput', 'Throughput, p90', 'throughput', 0.9),
  spread('p99_throughput', 'Throughput, p99', 'throughput', 0.99),
  {
    ...plain,
    name: 'cache_hit_rate',
    label: 'Cache hit rate',
    format: 'percent',
    isRate: true,
    measures: ['cached', 'prompt'],
    value: (group) => ratio(group.sum('cached'), group.sum('prompt')),
  },
  unknown('guardrail_invoked_rate', 'Guardrail invocation rate', 'percent', shortRate),
  unknown('response_cached_rate', 'Cached response rate', 'percent', shortRate),
]

function ratio(part: bigint, whole: bigint): number | null {
  return whole === 0n ? null : Number(part) / Number(whole)
}

export const metricsByName: ReadonlyMap<string, Metric> = new Map(
  metrics.map((metric) => [metric.name, metric]),
)
