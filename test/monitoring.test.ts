import { beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { startJobs } from '../src/jobs.ts'
import { type Bench, describeWithUpstreams, sendRequest } from './inference/two-upstreams.ts'
import { readSeries, type Series } from './support/metrics.ts'
import { matchesSeries, readGroupLabels, readSelectors } from './support/metrics-queries.ts'
import { vendorErrors, vendorReply } from './support/replies.ts'
import { waitUntil } from './support/wait-until.ts'

const { body: reply, frames } = vendorReply('chat', 'text')
const price = 'pricing: { prompt: "0.000001", completion: "0.000004" }'

function buildSettings(first: string, second: string): string {
  const provider = (slug: string, url: string) =>
    `  - { slug: ${slug}, name: ${slug}, base_url: "${url}", dialects: [chat], api_key: secret }`
  const endpoint = (slug: string) => `{ provider: ${slug}, upstream_model: vendor-model, ${price} }`
  return [
    `egress: { allow_private: ["${new URL(second).host}"] }`,
    'providers:',
    provider('one', first),
    provider('two', second),
    'models:',
    '  - id: test/both',
    '    name: both',
    `    endpoints: [${endpoint('one')}, ${endpoint('two')}]`,
    '  - id: test/single',
    '    name: single',
    `    endpoints: [${endpoint('two')}]`,
  ].join('\n')
}

interface Rule {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

const alertsPath = 'deploy/prometheus/alerts.yaml'
const { groups } = Bun.YAML.parse(await Bun.file(alertsPath).text()) as {
  groups: { name: string; rules: Rule[] }[]
}
const rules = groups.flatMap((group) => group.rules)

/** Labels that Prometheus adds to what it scrapes. */
const targetLabels = ['instance', 'job', 'le']

interface DataSource {
  uid: string
  type: string
}

interface Panel {
  id: number
  title: string
  datasource: DataSource
  gridPos: { x: number; y: number }
  targets: { expr: string }[]
}

interface Dashboard {
  uid: string
  title: string
  panels: Panel[]
  templating: { list: { datasource: DataSource; query: { query: string } }[] }
}

const dashboards = await Promise.all(
  [...new Glob('deploy/grafana/dashboards/*.json').scanSync('.')].map(async (path) => ({
    path,
    ...((await Bun.file(path).json()) as Dashboard),
  })),
)
const panels = dashboards.flatMap(({ uid, panels }) => panels.map((panel) => ({ uid, ...panel })))

/** Sends what gives every metric that alerts and dashboards read a value. */
async function makeTraffic(bench: Bench): Promise<void> {
  const { server, first, second } = bench
  const send = async (body: Record<string, unknown>, init = {}) =>
    (await sendRequest(bench, 'chat', body, init)).text()
  first.setDefault({ json: reply })
  second.setDefault({ json: reply })
  const destination = await server.call('POST', '/observability/destinations', {
    body: { type: 'webhook', name: 'd', config: { url: `${second.url}/in` } },
  })
  expect(destination.status).toBe(201)
  const { id } = destination.body.data
  await server.call('POST', `/observability/destinations/${id}/pause`)
  await send({ model: 'test/both' })
  await send({ model: 'test/both' }, { headers: { 'x-service-cache': 'true' } })
  await send({ model: 'test/both' }, { headers: { 'x-service-cache': 'true' } })
  first.setDefault({ status: 500, json: vendorErrors.chat('broken') })
  for (let sent = 0; sent < 6; sent++) await send({ model: 'test/both', provider: { order: ['one'] } })
  second.setDefault({ status: 500, json: vendorErrors.chat('broken') })
  await send({ model: 'test/single' })
  second.setDefault({ sse: frames })
  await send({ model: 'test/single', stream: true })
  const poor = await server.call('POST', '/keys', { body: { name: 'poor', limit: 0 } })
  await send({ model: 'test/single' }, { key: poor.body.key })
  await server.call('POST', '/ledger/check')
  const stopJobs = startJobs(server.gateway)
  await waitUntil(async () => {
    const { body } = await server.gateway.metrics.render()
    return body.includes('headgate_delivery_queue_oldest_seconds{') && body.includes('task="audit anchors"')
  })
  stopJobs()
}

describeWithUpstreams(
  'monitoring',
  (bench, kind) => {
    let series: Series[]
    beforeAll(async () => {
      await makeTraffic(bench())
      series = readSeries(await (await fetch(`${bench().server.url}/metrics`)).text())
    })

    const expectSeries = (query: string) => {
      const selectors = readSelectors(query)
      const unread = selectors.filter((selector) => {
        if (kind === 'sqlite' && selector.name === 'headgate_clock_offset_seconds') return false
        // No request is lost here: the other outcome is counted.
        if (selector.name === 'headgate_interrupted_requests_total')
          return !series.some(({ name }) => name === selector.name)
        return !series.some((each) => matchesSeries(selector, each))
      })
      expect(unread).toEqual([])
      const known = new Set([
        ...targetLabels,
        ...selectors.flatMap(({ name }) =>
          series.filter((each) => each.name === name).flatMap(({ labels }) => Object.keys(labels)),
        ),
      ])
      expect(readGroupLabels(query).filter((label) => !known.has(label))).toEqual([])
      return selectors.length
    }

    for (const { alert, expr } of rules)
      test(`the alert ${alert} reads series of a running server`, () => {
        const count = expectSeries(expr)
        if (!expr.startsWith('up{')) expect(count).toBeGreaterThan(0)
      })

    for (const { uid, title, targets } of panels)
      test(`the panel ${title} of ${uid} reads series of a running server`, () => {
        expect(targets.length).toBeGreaterThan(0)
        for (const { expr } of targets) expect(expectSeries(expr)).toBeGreaterThan(0)
      })

    for (const { uid, templating } of dashboards)
      for (const { query } of templating.list)
        test(`the variable ${query.query} of ${uid} has values`, () => {
          const [, name = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query.query) ?? []
          expect(series.some((each) => each.name === name && each.labels[label] !== undefined)).toBe(true)
        })
  },
  buildSettings,
)

describe('dashboards', () => {
  test('each has a uid, and panels and variables that read the data source of the compose file', async () => {
    expect(dashboards.map(({ uid }) => uid).toSorted()).toEqual([
      'headgate-cost',
      'headgate-latency',
      'headgate-ledger',
      'headgate-overview',
      'headgate-providers',
    ])
    const source = Bun.YAML.parse(
      await Bun.file('deploy/grafana/provisioning/datasources/prometheus.yaml').text(),
    ) as { datasources: DataSource[] }
    const [{ uid, type } = { uid: '', type: '' }] = source.datasources
    for (const { panels, templating } of dashboards) {
      expect(panels.length).toBeGreaterThan(5)
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
      expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length)
      for (const { datasource } of [...panels, ...templating.list]) expect(datasource).toEqual({ uid, type })
    }
  })
})

describe('alerts', () => {
  test('each has a severity, a summary and its heading of the runbook', async () => {
    const runbook = await Bun.file('docs/runbook.md').text()
    const headings = [...runbook.matchAll(/^### (\w+)$/gm)].map(([, heading = '']) => heading)
    expect(rules.length).toBeGreaterThan(15)
    for (const { alert, expr, labels, annotations, ...rest } of rules) {
      expect(Object.keys(rest).filter((key) => key !== 'for')).toEqual([])
      expect(rest.for ?? '1m').toMatch(/^\d+[mh]$/)
      expect(['critical', 'warning', 'info']).toContain(labels.severity)
      expect(annotations.summary).toMatch(/\.$/)
      expect(annotations.runbook).toBe(`docs/runbook.md#${alert.toLowerCase()}`)
      expect([...expr.matchAll(/\(/g)].length).toBe([...expr.matchAll(/\)/g)].length)
    }
    expect(headings.toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted())
  })

  test.skipIf(!Bun.which('promtool'))('promtool accepts the rules and the settings of Prometheus', () => {
    for (const command of [
      ['promtool', 'check', 'rules', alertsPath],
      ['promtool', 'check', 'config', 'deploy/prometheus/prometheus.yaml'],
    ])
      expect(Bun.spawnSync(command).exitCode).toBe(0)
  })
})
