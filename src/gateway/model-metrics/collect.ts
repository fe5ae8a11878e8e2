import type { MetricData, NativeHistogram } from '../exposition/metric-data.ts'
import {
  bucketsPerDouble,
  type Distribution,
  type EndpointCounts,
  type KeyCounts,
  nativeSchema,
  type SpendingCounts,
} from './counts.ts'
import type { Labels } from './label-sets.ts'

type Values = MetricData['values']

const nanosPerUsd = 1e9

function createCounter(name: string, help: string, values: Values): MetricData {
  return { name, help, type: 'counter', aggregator: 'sum', values }
}

/** Those that are not zero: most endpoints never failed. */
function listCounts<C extends { labels: Labels }>(
  all: readonly C[],
  read: (counts: C) => number,
  more: Labels = {},
): Values {
  return all.flatMap((counts) => {
    const value = read(counts)
    return value === 0 ? [] : [{ value, labels: { ...counts.labels, ...more } }]
  })
}

/** A histogram of which only the sets of labels are shown that have values. */
function createHistogram<C extends { labels: Labels }>(
  name: string,
  help: string,
  all: readonly C[],
  read: (counts: C) => Distribution,
): MetricData {
  const values = all.flatMap((counts) => listBuckets(name, counts.labels, read(counts)))
  const native = all.flatMap((counts) => readNative(counts.labels, read(counts)))
  return { name, help, type: 'histogram', aggregator: 'sum', values, native }
}

function readNative(labels: Labels, { native, nativeFrom, sum }: Distribution): NativeHistogram[] {
  const count = native.reduce((total, own) => total + own, 0)
  if (count === 0) return []
  const [zeroCount = 0, ...counts] = native
  const first = Math.max(
    counts.findIndex((own) => own > 0),
    0,
  )
  const end = counts.findLastIndex((own) => own > 0) + 1
  return [
    {
      labels,
      schema: nativeSchema,
      zeroThreshold: 2 ** nativeFrom,
      zeroCount,
      offset: nativeFrom * bucketsPerDouble + 1 + first,
      counts: counts.slice(first, end),
      sum,
      count,
    },
  ]
}

function listBuckets(name: string, labels: Labels, distribution: Distribution): Values {
  const { bounds, buckets, exemplars, sum } = distribution
  let total = 0
  const values: Values = bounds.map((bound, at) => {
    total += buckets[at] ?? 0
    const le = Number.isFinite(bound) ? bound : '+Inf'
    const exemplar = exemplars?.[at]
    const series = { metricName: `${name}_bucket`, labels: { le, ...labels }, value: total }
    return exemplar ? { ...series, exemplar } : series
  })
  if (total === 0) return []
  values.push({ metricName: `${name}_sum`, labels, value: sum })
  values.push({ metricName: `${name}_count`, labels, value: total })
  return values
}

/** In steps, between which others may run. */
export function* collectEndpoints(all: readonly EndpointCounts[]): Generator<MetricData> {
  const attempts = [
    ...listCounts(all, ({ succeeded }) => succeeded, { outcome: 'ok' }),
    ...listCounts(all, ({ canceled }) => canceled, { outcome: 'canceled' }),
    ...all.flatMap(({ labels, failed }) =>
      [...failed].map(([error_type, value]) => ({
        value,
        labels: { ...labels, outcome: 'error', error_type },
      })),
    ),
  ]
  yield createHistogram(
    'headgate_request_duration_seconds',
    'Time from the arrival of a request to a model to the end of its reply, by the endpoint of its last attempt.',
    all,
    ({ duration }) => duration,
  )
  yield createHistogram(
    'headgate_time_to_first_token_seconds',
    'Time from the arrival of a streamed request to the first content of its reply.',
    all,
    ({ firstToken }) => firstToken,
  )
  yield createHistogram(
    'headgate_time_per_output_token_seconds',
    'Time for each output token after the first content of a streamed reply.',
    all,
    ({ outputToken }) => outputToken,
  )
  yield createCounter(
    'headgate_attempts_total',
    'Attempts at endpoints: ok, canceled, or error with its error_type.',
    attempts,
  )
  yield createCounter(
    'headgate_failovers_total',
    'Attempts that failed and were followed by one at another endpoint (the labels are of the failed one).',
    listCounts(all, ({ failovers }) => failovers),
  )
  yield createCounter(
    'headgate_retries_total',
    'Attempts that failed and were repeated at the same endpoint.',
    listCounts(all, ({ retries }) => retries),
  )
  yield createCounter(
    'headgate_endpoint_cooldowns_total',
    'Cooldowns of endpoints after a Retry-After of their provider.',
    listCounts(all, ({ cooldowns }) => cooldowns),
  )
  yield createCounter(
    'headgate_endpoint_ejections_total',
    'Ejections of endpoints that failed too often.',
    listCounts(all, ({ ejections }) => ejections),
  )
}

type AnySpending = SpendingCounts | KeyCounts

/** `prefix`: of the names, `headgate` or `headgate_key`. */
export function* collectSpending(
  prefix: string,
  of: string,
  all: readonly AnySpending[],
): Generator<MetricData> {
  const list = (read: (counts: AnySpending) => number, more?: Labels) => listCounts(all, read, more)
  yield createCounter(`${prefix}_requests_total`, `Requests to models, by outcome${of}.`, [
    ...list(({ completed }) => completed, { outcome: 'completed' }),
    ...list(({ failed }) => failed, { outcome: 'failed' }),
    ...list(({ cancelled }) => cancelled, { outcome: 'canceled' }),
    ...list(({ rejected }) => rejected, { outcome: 'rejected' }),
    ...list(({ cached }) => cached, { outcome: 'cached' }),
  ])
  yield createCounter(`${prefix}_tokens_total`, `Tokens, by kind; the kinds do not overlap${of}.`, [
    ...list(({ input }) => input, { token_type: 'input' }),
    ...list(({ cacheRead }) => cacheRead, { token_type: 'cached_input' }),
    ...list(({ cacheWrite }) => cacheWrite, { token_type: 'cache_write' }),
    ...list(({ output }) => output, { token_type: 'output' }),
    ...list(({ reasoning }) => reasoning, { token_type: 'reasoning' }),
  ])
  yield createCounter(
    `${prefix}_cost_usd_total`,
    `What requests were charged${of}.`,
    list(({ costNanos }) => costNanos / nanosPerUsd),
  )
  yield createCounter(
    `${prefix}_upstream_cost_usd_total`,
    `What requests cost at the prices of their providers, also with BYOK keys${of}.`,
    list(({ upstreamNanos }) => upstreamNanos / nanosPerUsd),
  )
}
