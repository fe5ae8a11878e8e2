import { describe, expect, test } from 'bun:test'
import type { Endpoint } from '../../catalog/model.ts'
import { zeroCharge } from '../../ledger/charge.ts'
import { ModelMetrics } from '../model-metrics/model-metrics.ts'
import { readHistograms } from './histograms.ts'
import type { MetricData } from './metric-data.ts'
import { contentTypes, negotiateFormat } from './negotiate.ts'
import { renderMetrics } from './render.ts'
import { renderText } from './text.ts'

const protobuf = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'
const root = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16) }
const name = 'headgate_time_to_first_token_seconds'

function record(metrics: ModelMetrics, firstTokenMs: number, spans: { root: typeof root } | null): void {
  const endpoint = { model_id: 'test/model', tag: 'one' } as Endpoint
  metrics.record(
    {
      attempts: { candidate: { endpoint }, failed: [], isOpen: true, lastStartedAt: 0 },
      format: { task: 'text' },
      caller: { key: { workspace_id: 'w', hash: 'h' } },
      startedAt: performance.now(),
      spans,
    },
    { status: 'completed', charge: zeroCharge, summary: null, error: null, firstTokenMs },
  )
}

async function collect(metrics: ModelMetrics): Promise<MetricData> {
  const found = (await metrics.collect()).find((metric) => metric.name === name)
  if (!found) throw new Error('no such metric')
  return found
}

describe('the format of metrics', () => {
  test.each([
    [null, 'text'],
    ['*/*', 'text'],
    ['text/html', 'text'],
    ['application/openmetrics-text', 'openmetrics'],
    ['application/openmetrics-text;version=2.0.0', 'text'],
    ['application/openmetrics-text;version=1.0.0;q=0.4,text/plain;version=0.0.4;q=0.5', 'text'],
    ['application/vnd.google.protobuf', 'text'],
    [protobuf, 'protobuf'],
    // Prometheus with native histograms, and without.
    [
      `${protobuf},application/openmetrics-text;version=1.0.0;q=0.8,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
      'protobuf',
    ],
    [
      'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,text/plain;q=0.3,*/*;q=0.2',
      'openmetrics',
    ],
  ] as const)('%p gets %s', (accept, format) => {
    expect(negotiateFormat(accept)).toBe(format)
  })

  test('an Accept of any length takes no time', async () => {
    const response = await renderMetrics([], `${'a;b=c,'.repeat(100_000)}${protobuf}`)
    expect(response.headers.get('content-type')).toBe(contentTypes.text)
  })

  test('OpenMetrics has families without _total, bounds as floating-point numbers and an end', async () => {
    const counter: MetricData = {
      name: 'a_total',
      help: 'A "quoted"\nhelp.',
      type: 'counter',
      aggregator: 'sum',
      values: [{ value: 1, labels: { text: 'a"b\\c\nd' } }],
    }
    const gauge: MetricData = {
      ...counter,
      name: 'g',
      type: 'gauge',
      values: [
        { value: Number.POSITIVE_INFINITY, labels: {} },
        { value: Number.NaN, labels: { n: 1 } },
      ],
    }
    expect(await renderText([counter, gauge], 'openmetrics')).toBe(
      [
        '# HELP a A \\"quoted\\"\\nhelp.',
        '# TYPE a counter',
        'a_total{text="a\\"b\\\\c\\nd"} 1',
        '# HELP g A \\"quoted\\"\\nhelp.',
        '# TYPE g gauge',
        'g +Inf',
        'g{n="1"} NaN',
        '# EOF\n',
      ].join('\n'),
    )
  })
})

describe('exemplars', () => {
  test('name the trace of the last value of a bucket, in OpenMetrics only', async () => {
    const metrics = new ModelMetrics()
    record(metrics, 1000, { root })
    record(metrics, 900, { root: { ...root, traceId: 'c'.repeat(32) } })
    record(metrics, 40, null)
    const metric = await collect(metrics)
    const lines = (await renderText([metric], 'openmetrics'))
      .split('\n')
      .filter((line) => line.includes(' # {'))
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatch(
      /_bucket\{le="1\.0",.*\} 3 # \{trace_id="c{32}",span_id="b{16}"\} 0\.9 \d+(\.\d+)?$/,
    )
    expect(await renderText([metric])).not.toContain(' # {')
  })

  test('a request without a trace has none', async () => {
    const metrics = new ModelMetrics()
    record(metrics, 1000, null)
    expect(await renderText([await collect(metrics)], 'openmetrics')).not.toContain(' # {')
  })
})

describe('exponential buckets', () => {
  /** The upper bound of the only bucket that is not empty. */
  const boundOf = async (firstTokenMs: number): Promise<number | string> => {
    const metrics = new ModelMetrics()
    record(metrics, firstTokenMs, null)
    const [{ native } = { native: null }] = readHistograms(await collect(metrics))
    expect(native).toMatchObject({ schema: 3, count: 1, zeroThreshold: 2 ** -10 })
    if (native?.zeroCount) return 'zero'
    expect(native?.counts).toEqual([1])
    return 2 ** ((native?.offset ?? Number.NaN) / 8)
  }

  test.each([
    [1000, 1],
    [1001, 2 ** (1 / 8)],
    [500, 0.5],
    [1900, 2],
    [600_000, 2 ** (74 / 8)],
  ])('%d ms is counted up to %d s', async (ms, bound) => {
    expect(await boundOf(ms)).toBeCloseTo(bound, 9)
  })

  test('what is too short or too long for them is counted in the first and the last', async () => {
    expect(await boundOf(0)).toBe('zero')
    expect(await boundOf(0.9)).toBe('zero')
    expect(await boundOf(1e9)).toBe(2 ** 14)
  })
})
