import { describe, expect, test } from 'bun:test'
import { startTestServer, type TestServer } from '../../../test/support/harness.ts'
import { decodeExports, hasOtlpDecoder } from '../../../test/support/otlp.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../../../test/support/otlp-receiver.ts'
import { readConfig } from '../../config.ts'
import { listJobs } from '../../jobs.ts'
import { MetricsExporter } from './metrics-exporter.ts'

const protocols = ['http/protobuf', 'http/json'] as const

async function withServer(
  environment: Record<string, string>,
  work: (server: TestServer, receiver: OtlpReceiver) => Promise<void>,
): Promise<void> {
  const receiver = startOtlpReceiver()
  const server = await startTestServer('sqlite', {
    environment: {
      OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics`,
      OTEL_EXPORTER_OTLP_METRICS_HEADERS: 'x-tenant=secret-value',
      ...environment,
    },
  })
  try {
    await work(server, receiver)
  } finally {
    await server.stop()
    await receiver.stop()
  }
}

describe.each(protocols)('the export of metrics as %s', (protocol) => {
  test('has the names, labels and values of GET /metrics', () =>
    withServer({ OTEL_EXPORTER_OTLP_PROTOCOL: protocol }, async (server, receiver) => {
      const body = { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }
      const { key } = { key: server.own.inferenceKey }
      expect((await server.call('POST', '/chat/completions', { key, body })).status).toBe(200)
      await server.gateway.metrics.exporter?.export()
      const [request] = receiver.requests
      expect(request?.headers.get('x-tenant')).toBe('secret-value')
      expect(request?.text).toContain('service.instance.id')

      const metrics = new Map(receiver.metrics.map((metric) => [metric.name, metric]))
      const requests = metrics.get('headgate_requests_total')
      expect(requests).toMatchObject({ kind: 'sum', unit: '' })
      expect(requests?.points).toEqual([
        expect.objectContaining({
          value: 1,
          attributes: expect.objectContaining({ model: 'sandbox/echo', operation: 'chat' }),
        }),
      ])
      expect(metrics.get('headgate_ledger_up')).toMatchObject({ kind: 'gauge', points: [{ value: 1 }] })
      const duration = metrics.get('headgate_request_duration_seconds')
      const [point] = duration?.points ?? []
      expect(duration).toMatchObject({ kind: 'histogram', unit: 's' })
      expect(point?.counts).toHaveLength((point?.bounds ?? []).length + 1)
      expect(point?.counts?.reduce((sum, count) => sum + count, 0)).toBe(1)
      expect(point?.value).toBeGreaterThan(0)

      const text = await (await fetch(`${server.url}/metrics`)).text()
      const shown = [...text.matchAll(/^# TYPE (\S+)/gm)].map((match) => match[1] ?? '')
      const withValues = shown.filter((name) =>
        new RegExp(`^${name}(?:_sum)?(?:\\{.*)? [-\\d]`, 'm').test(text),
      )
      // The lag of the event loop has a value only when a sample was taken since it was last read.
      const steady = withValues.filter((name) => !name.includes('eventloop_lag'))
      expect(steady.filter((name) => !metrics.has(name))).toEqual([])
    }))
})

test('a receiver that rejects metrics fails the job, and the next export has all counts', () =>
  withServer({}, async ({ gateway }, receiver) => {
    receiver.statuses.push(503)
    const job = listJobs(gateway).find(({ name }) => name === 'metrics export')
    expect(job?.everyMs).toBe(60_000)
    await expect(job?.run(gateway)).rejects.toThrow('responded with 503')
    expect(receiver.metrics).toEqual([])
    await job?.run(gateway)
    expect(receiver.metrics.length).toBeGreaterThan(20)
  }))

test('many series are sent in several requests, each metric in one', async () => {
  const receiver = startOtlpReceiver()
  const config = readConfig({
    OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${receiver.url}/v1/metrics`,
  }).metricsExport
  if (!config) throw new Error('not configured')
  const values = Array.from({ length: 3000 }, (_, index) => ({ value: index, labels: { index } }))
  const metric = { help: '', type: 'gauge', aggregator: 'sum', values }
  const names = ['one', 'two', 'three']
  await new MetricsExporter(config, 'node', async () => names.map((name) => ({ ...metric, name }))).export()
  await receiver.stop()
  expect(receiver.requests).toHaveLength(3)
  expect(receiver.metrics.map(({ name, points }) => [name, points.length])).toEqual(
    names.map((name) => [name, 3000]),
  )
})

interface DecodedPoint {
  count: string
  sum: number
  scale?: number
  zeroCount?: string
  bucketCounts?: string[]
  explicitBounds?: number[]
  positive?: { offset?: number; bucketCounts: string[] }
  exemplars?: { traceId: string; spanId: string; asDouble: number; timeUnixNano: string }[]
}

interface DecodedMetric {
  name: string
  histogram?: { dataPoints: DecodedPoint[]; aggregationTemporality: string }
  exponentialHistogram?: { dataPoints: DecodedPoint[]; aggregationTemporality: string }
}

interface DecodedMetrics {
  resourceMetrics: { scopeMetrics: { metrics: DecodedMetric[] }[] }[]
}

describe.skipIf(!hasOtlpDecoder).each(protocols)('with the definitions of OpenTelemetry, %s', (protocol) => {
  const traceId = '0af7651916cd43dd8448eb211c80319c'
  const exportOne = async (
    environment: Record<string, string>,
    headers: Record<string, string>,
  ): Promise<DecodedMetric[]> => {
    let decoded: DecodedMetrics[] = []
    const traces = startOtlpReceiver()
    const tracing = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${traces.url}/v1/traces` }
    const all = { OTEL_EXPORTER_OTLP_PROTOCOL: protocol, ...environment, ...(headers.traceparent && tracing) }
    await withServer(all, async (server, receiver) => {
      const body = { model: 'sandbox/echo', stream: true, messages: [{ role: 'user', content: 'Hello' }] }
      const key = server.own.inferenceKey
      await server.call('POST', '/chat/completions', { key, body, headers })
      await server.gateway.metrics.exporter?.export()
      const bodies = receiver.requests.map((request) => ({
        contentType: request.headers.get('content-type') ?? '',
        bytes: Buffer.from(request.text, 'latin1'),
      }))
      decoded = await decodeExports<DecodedMetrics>(bodies, 'metrics')
    })
    await traces.stop()
    return decoded
      .flatMap(({ resourceMetrics }) => resourceMetrics)
      .flatMap(({ scopeMetrics }) => scopeMetrics)
      .flatMap(({ metrics }) => metrics)
  }
  const find = (metrics: DecodedMetric[], name: string) => metrics.find((metric) => metric.name === name)
  const duration = 'headgate_request_duration_seconds'

  test('histograms have the trace of a request that is traced, and none of others', async () => {
    const traced = find(await exportOne({}, { traceparent: `00-${traceId}-b7ad6b7169203331-01` }), duration)
    const [point] = traced?.histogram?.dataPoints ?? []
    expect(point).toMatchObject({
      count: '1',
      exemplars: [{ traceId, spanId: expect.stringMatching(/^[0-9a-f]{16}$/), asDouble: point?.sum }],
    })
    const plain = find(await exportOne({}, {}), duration)
    expect(plain?.histogram?.dataPoints[0]?.count).toBe('1')
    expect(plain?.histogram?.dataPoints[0]?.exemplars).toBeUndefined()
  })

  test('histograms have exponential buckets if the variable says so', async () => {
    const name = 'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION'
    const metrics = await exportOne({ [name]: 'base2_exponential_bucket_histogram' }, {})
    const exponential = find(metrics, duration)?.exponentialHistogram
    expect(exponential?.aggregationTemporality).toBe('AGGREGATION_TEMPORALITY_CUMULATIVE')
    const [point] = exponential?.dataPoints ?? []
    const { scale = 0, positive, sum = 0 } = point ?? {}
    expect(point).toMatchObject({ count: '1', scale: 3, positive: { bucketCounts: ['1'] } })
    // The bucket of the only value: above its lower bound, up to the upper one.
    const base = 2 ** (1 / 2 ** scale)
    expect(sum).toBeGreaterThan(base ** (positive?.offset ?? 0))
    expect(sum).toBeLessThanOrEqual(base ** ((positive?.offset ?? 0) + 1) * (1 + 1e-12))
    // One that is counted in other buckets keeps them.
    expect(find(metrics, 'headgate_http_request_seconds')?.histogram?.dataPoints.length).toBeGreaterThan(0)
  })
})

describe('the variables', () => {
  const endpoint = 'http://127.0.0.1:4318/base/'

  test('a receiver of traces gets no metrics unless it is said so', () => {
    expect(readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }).metricsExport).toBeNull()
    expect(
      readConfig({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: 'otlp' }).metricsExport,
    ).toMatchObject({
      endpoint: 'http://127.0.0.1:4318/base/v1/metrics',
      protocol: 'http/protobuf',
      intervalMs: 60_000,
    })
    const own = { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint, OTEL_METRIC_EXPORT_INTERVAL: '5000' }
    expect(readConfig(own).metricsExport).toMatchObject({ endpoint, intervalMs: 5000 })
    expect(readConfig(own).tracing).toBeNull()
    expect(readConfig({ ...own, OTEL_METRICS_EXPORTER: 'none' }).metricsExport).toBeNull()
  })

  test.each([
    [{ OTEL_METRICS_EXPORTER: 'prometheus' }, 'OTEL_METRICS_EXPORTER must be otlp or none'],
    [
      {
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint,
        OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION: 'drop',
      },
      'OTEL_EXPORTER_OTLP_METRICS_DEFAULT_HISTOGRAM_AGGREGATION must be one of explicit_bucket_histogram',
    ],
    [{ OTEL_METRICS_EXPORTER: 'otlp' }, 'OTEL_METRICS_EXPORTER needs OTEL_EXPORTER_OTLP_ENDPOINT'],
    [
      { OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: endpoint, OTEL_METRIC_EXPORT_INTERVAL: '10' },
      'OTEL_METRIC_EXPORT_INTERVAL must be an integer from 1000',
    ],
  ])('%p is rejected', (environment, message) => {
    expect(() => readConfig(environment as Record<string, string>)).toThrow(message)
  })
})
