import { expect, test } from 'bun:test'
import type { Endpoint } from '../catalog/model.ts'
import type { MetricData } from '../gateway/exposition/metric-data.ts'
import { renderText } from '../gateway/exposition/text.ts'
import { Metrics } from '../gateway/metrics.ts'
import type { WorkerStatus } from '../gateway/worker-protocol.ts'
import { WorkerMetrics } from './worker-metrics.ts'

const workers: WorkerStatus[] = [
  { number: 1, state: 'running', pid: 1, started_at: null, restarts: 0 },
  { number: 2, state: 'draining', pid: 2, started_at: null, restarts: 3 },
]

function openWorker(waiting: number, isUp: boolean): Metrics {
  const metrics = new Metrics()
  metrics.registerLedger({ waiting, downSince: isUp ? null : 1, leases: { count: 0, free: 0n } })
  return metrics
}

/** The value of each line, by name and labels. */
function parse(body: string): Map<string, number> {
  const lines = body.split('\n').filter((line) => line && !line.startsWith('#'))
  return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
}

test('counters and histograms are added up, and each gauge is combined by its rule', async () => {
  const [a, b] = [openWorker(2, true), openWorker(3, false)]
  a.http.record('chat', 200, 0.002)
  b.http.record('chat', 200, 0.02)
  b.http.record('keys', 429, 0.0001)
  const endpoint = { model_id: 'm', tag: 'p/fast' } as Endpoint
  a.models.recordTurn(endpoint, 'text')
  b.models.recordTurn(endpoint, 'text')
  a.recordCacheLookup('hit')
  b.recordCacheLookup('hit')
  for (const [metrics, depth] of [
    [a, 7],
    [b, 9],
  ] as const)
    metrics.setDeliveryQueues(new Map([['webhook', { depth, oldestSeconds: depth }]]))
  const all = new WorkerMetrics()
  const body = await renderText(await all.combine(workers, [await a.collect(), await b.collect()]))
  const values = parse(body)
  expect(Object.fromEntries(values)).toMatchObject({
    'headgate_http_requests_total{operation="chat",status="200"}': 2,
    'headgate_http_requests_total{operation="keys",status="429"}': 1,
    'headgate_http_request_seconds_bucket{le="0.0025",operation="chat"}': 1,
    'headgate_http_request_seconds_bucket{le="+Inf",operation="chat"}': 2,
    'headgate_http_request_seconds_count{operation="chat"}': 2,
    'headgate_response_cache_requests_total{status="hit"}': 2,
    'headgate_attempts_total{model="m",provider="p",endpoint="p/fast",operation="chat",outcome="ok"}': 2,
    headgate_ledger_waiting: 5,
    headgate_ledger_up: 0,
    'headgate_delivery_queue_events{type="webhook"}': 9,
    'headgate_worker_up{worker="1"}': 1,
    'headgate_worker_up{worker="2"}': 0,
    'headgate_worker_restarts_total{worker="2"}': 3,
  })
  expect(values.get('headgate_process_start_time_seconds')).toBeLessThanOrEqual(Date.now() / 1000)
  // The same metrics with the same descriptions as one process has.
  const describe = (text: string) => text.split('\n').filter((line) => /^# (HELP|TYPE)/.test(line))
  const own = await a.render()
  expect(describe(body)).toEqual(expect.arrayContaining(describe(own.body)))
})

test('the counts of a worker that has ended remain, without its gauges', async () => {
  const [ended, next] = [openWorker(2, false), openWorker(0, true)]
  ended.http.record('chat', 200, 0.002)
  next.http.record('chat', 200, 0.002)
  const all = new WorkerMetrics()
  all.retain(await ended.collect())
  all.retain(await ended.collect())
  const values = parse(await renderText(await all.combine(workers, [await next.collect()])))
  expect(values.get('headgate_http_requests_total{operation="chat",status="200"}')).toBe(3)
  expect(values.get('headgate_http_request_seconds_count{operation="chat"}')).toBe(3)
  expect([values.get('headgate_ledger_up'), values.get('headgate_ledger_waiting')]).toEqual([1, 0])
  const counts = parse(await renderText(await all.combine(workers, [])))
  expect(counts.get('headgate_http_requests_total{operation="chat",status="200"}')).toBe(2)
})

test('exponential buckets are added up, and the last exemplar of a bucket remains', async () => {
  const histogram = (offset: number, counts: number[], at: number): MetricData => ({
    name: 'headgate_request_duration_seconds',
    help: '',
    type: 'histogram',
    aggregator: 'sum',
    values: [
      {
        metricName: 'headgate_request_duration_seconds_bucket',
        labels: { le: '+Inf', model: 'm' },
        value: counts.length,
        exemplar: { traceId: `${at}`, spanId: '', value: 1, at },
      },
    ],
    native: [
      {
        labels: { model: 'm' },
        schema: 3,
        zeroThreshold: 0.001,
        zeroCount: 1,
        offset,
        counts,
        sum: 2,
        count: 4,
      },
    ],
  })
  const all = new WorkerMetrics()
  all.retain([histogram(-4, [], 1)])
  const [metric] = await all.combine(workers, [[histogram(-3, [1, 2], 3)], [histogram(1, [4], 2)]])
  expect(metric?.native).toMatchObject([
    { offset: -3, counts: [1, 2, 0, 0, 4], zeroCount: 3, sum: 6, count: 12 },
  ])
  expect(metric?.values).toMatchObject([{ value: 3, exemplar: { at: 3 } }])
})
