import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Bench, openBench } from './inference/two-upstreams.ts'
import { makeTraffic, monitoredSettings, sendTraffic } from './support/monitored-traffic.ts'
import { alertsPath, panels, rules, variables } from './support/monitoring-files.ts'
import { type OtlpReceiver, startOtlpReceiver } from './support/otlp-receiver.ts'
import { hasPrometheus, programOf, TestPrometheus } from './support/prometheus.ts'
import { waitUntil } from './support/wait-until.ts'

/** A time in which all samples of the test are. */
const interval = '5m'

/** A query with the variables of Grafana as it sends them when all values are chosen. */
function resolveVariables(query: string): string {
  return query
    .replaceAll('$__rate_interval', interval)
    .replaceAll('$__range', interval)
    .replaceAll(/\$\w+/g, '.*')
}

/** An alert's expression, with 0 or 1 where it would have no result. */
function compareAsNumbers(expression: string): string {
  return expression.replaceAll(/ (==|>|<) /g, ' $1 bool ')
}

describe.skipIf(!hasPrometheus)('a Prometheus that scrapes a server', () => {
  let bench: Bench
  let receiver: OtlpReceiver
  let prometheus: TestPrometheus
  beforeAll(async () => {
    receiver = startOtlpReceiver()
    bench = await openBench('sqlite', monitoredSettings, { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url })
    await makeTraffic(bench)
    const options = { features: ['exemplar-storage'], rules: [alertsPath] }
    prometheus = await TestPrometheus.start(bench.server.url, options)
    await prometheus.scrape()
    // Counts that increase between two scrapes.
    await sendTraffic(bench)
    await bench.server.gateway.tracer?.exporter.flush()
    await prometheus.scrape()
  })
  afterAll(async () => {
    await prometheus?.stop()
    await bench.server.stop()
    await Promise.all([receiver.stop(), bench.first.stop(), bench.second.stop()])
  })

  const traceIds = () => new Set(receiver.spans.map(({ traceId }) => traceId))

  const readNumbers = async (query: string): Promise<number[]> =>
    (await prometheus.query(query)).map(({ value }) => Number(value?.[1])).filter(Number.isFinite)

  for (const { uid, title, targets } of panels)
    for (const { expr } of targets)
      if (expr !== undefined)
        test(`executes ${expr} of the panel ${title} of ${uid}`, async () => {
          expect(await readNumbers(resolveVariables(expr))).not.toEqual([])
        })

  for (const { uid, query } of variables)
    test(`reads the values of ${query} of ${uid}`, async () => {
      const [, series = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
      expect(await prometheus.listLabelValues(series, label)).not.toEqual([])
    })

  test('queries of traces name attributes of exported spans', () => {
    const queries = panels.flatMap(({ targets }) => targets.flatMap(({ query }) => query ?? []))
    const names = queries.flatMap((query) => [...query.matchAll(/\bspan\.([\w.]+)/g)].map(([, name]) => name))
    expect(names).toContain('gen_ai.request.model')
    for (const name of names)
      expect(receiver.spans.some(({ attributes }) => name !== undefined && name in attributes)).toBe(true)
    expect(receiver.requests.some(({ text }) => text.includes('service.name'))).toBe(true)
  })

  for (const { alert, expr } of rules)
    test(`executes the expression of the alert ${alert}`, async () => {
      expect(await readNumbers(compareAsNumbers(expr))).not.toEqual([])
    })

  test('evaluates all alerts without an error, and one fires', async () => {
    const list = () => prometheus.listRules()
    await waitUntil(async () => (await list()).every(({ health }) => health !== 'unknown'))
    const evaluated = await list()
    expect(evaluated.map(({ name }) => name).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
    expect(evaluated.filter(({ health }) => health !== 'ok')).toEqual([])
    await waitUntil(async () =>
      (await list()).some(({ name, state }) => name === 'HeadgateLimitReached' && state === 'firing'),
    )
  })

  test('has exemplars with the ids of exported traces', async () => {
    for (const name of ['request_duration', 'time_to_first_token', 'time_per_output_token']) {
      const found = await prometheus.queryExemplars(`headgate_${name}_seconds_bucket`)
      const exemplars = found.flatMap((series) => series.exemplars)
      expect(exemplars).not.toEqual([])
      for (const { labels, value } of exemplars) {
        expect(traceIds()).toContain(labels.trace_id ?? '')
        expect(Number(value)).toBeGreaterThan(0)
      }
    }
  })

  test('has native histograms, with exemplars, if it asks for them', async () => {
    const features = ['native-histograms', 'exemplar-storage']
    const native = await TestPrometheus.start(bench.server.url, { features })
    try {
      await native.scrape()
      const { body } = await bench.server.gateway.metrics.render()
      for (const name of ['request_duration', 'time_to_first_token', 'time_per_output_token']) {
        const metric = `headgate_${name}_seconds`
        const read = async (query: string) => Number((await native.query(query))[0]?.value?.[1])
        const total = (suffix: string) =>
          [...body.matchAll(new RegExp(`^${metric}_${suffix}\\{.*\\} (\\S+)$`, 'gm'))].reduce(
            (sum, [, value]) => sum + Number(value),
            0,
          )
        expect(await read(`sum(histogram_count(${metric}))`)).toBe(total('count'))
        expect(await read(`sum(histogram_sum(${metric}))`)).toBeCloseTo(total('sum'), 6)
        expect(await read(`histogram_quantile(1, sum(${metric}))`)).toBeGreaterThan(0)
        const exemplars = (await native.queryExemplars(metric)).flatMap((series) => series.exemplars)
        expect(exemplars).not.toEqual([])
        for (const { labels } of exemplars) expect(traceIds()).toContain(labels.trace_id ?? '')
      }
      // Metrics without exponential buckets keep those they have.
      expect(await native.query('headgate_job_duration_seconds_bucket')).not.toEqual([])
      expect(await native.query('headgate_ledger_up == 1')).toHaveLength(1)
    } finally {
      await native.stop()
    }
  })

  test.each(['openmetrics-text; version=1.0.0', 'vnd.google.protobuf; proto=x, text/plain'])(
    'promtool finds nothing wrong with what application/%s gets',
    async (accept) => {
      const response = await fetch(`${bench.server.url}/metrics`, {
        headers: { accept: `application/${accept}` },
      })
      const isOpen = response.headers.get('content-type')?.startsWith('application/openmetrics-text') ?? false
      const text = await response.text()
      expect(text.endsWith('# EOF\n')).toBe(isOpen)
      // It reads the text format of Prometheus only.
      if (isOpen) return
      const check = Bun.spawn([programOf('promtool'), 'check', 'metrics'], {
        stdin: Buffer.from(text),
        stderr: 'pipe',
      })
      const problems = (await new Response(check.stderr).text()).split('\n')
      expect(problems.filter((line) => line.includes('error while linting'))).toEqual([])
      expect(await check.exited).not.toBe(1)
    },
  )
})

describe.skipIf(!hasPrometheus)('promtool', () => {
  test.each([
    ['rules', alertsPath],
    ['config', 'deploy/prometheus/prometheus.yaml'],
  ])('accepts the %s', (kind, path) => {
    const { exitCode, stdout } = Bun.spawnSync([programOf('promtool'), 'check', kind, path])
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining('SUCCESS')])
  })
})
