import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Glob } from 'bun'
import { describeWithUpstreams } from './inference/two-upstreams.ts'
import { databaseKinds } from './support/harness.ts'
import { readSeries, type Series } from './support/metrics.ts'
import { matchesSeries, readGroupLabels, readSelectors } from './support/metrics-queries.ts'
import { makeTraffic, monitoredSettings } from './support/monitored-traffic.ts'
import { type DataSource, dashboards, panels, rules, variables } from './support/monitoring-files.ts'
import { startOtlpReceiver } from './support/otlp-receiver.ts'
import { expectValidDashboards, hasPackagingTools } from './support/packaging-tools.ts'

const receiver = startOtlpReceiver()
afterAll(() => receiver.stop())

/** Labels that Prometheus adds to what it scrapes. */
const targetLabels = ['instance', 'job', 'le']

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
        for (const { expr } of targets) if (expr !== undefined) expect(expectSeries(expr)).toBeGreaterThan(0)
      })

    for (const { uid, query } of variables)
      test(`the variable ${query} of ${uid} has values`, () => {
        const [, name = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
        expect(series.some((each) => each.name === name && each.labels[label] !== undefined)).toBe(true)
      })
  },
  monitoredSettings,
  databaseKinds,
  { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url },
)

describe('dashboards', () => {
  test('each has a uid, and panels and variables that read the data sources of the compose file', async () => {
    expect(dashboards.map(({ uid }) => uid).toSorted()).toEqual([
      'headgate-cost',
      'headgate-latency',
      'headgate-ledger',
      'headgate-overview',
      'headgate-providers',
      'headgate-trace',
    ])
    const files = [...new Glob('deploy/grafana/provisioning/datasources/*.yaml').scanSync('.')]
    const sources = await Promise.all(
      files.map(async (file) => {
        const { datasources } = Bun.YAML.parse(await Bun.file(file).text()) as { datasources: DataSource[] }
        return datasources.map(({ uid, type }) => ({ uid, type }))
      }),
    )
    for (const { panels, templating } of dashboards) {
      expect(panels.length).toBeGreaterThan(5)
      expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
      expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length)
      const queries = templating.list.filter(({ type }) => type === 'query')
      const read = [...panels, ...panels.flatMap(({ targets }) => targets), ...queries]
      expect(read.filter(({ datasource }) => datasource === undefined)).toEqual([])
      for (const { datasource = { uid: '', type: '' } } of read)
        expect(sources.flat()).toContainEqual(datasource)
    }
  })

  test('are loaded by Grafana of the compose file', async () => {
    const compose = Bun.YAML.parse(await Bun.file('compose.monitoring.yaml').text()) as {
      services: { grafana: { volumes: string[] } }
    }
    const provisioning = Bun.YAML.parse(
      await Bun.file('deploy/grafana/provisioning/dashboards/headgate.yaml').text(),
    ) as { providers: { options: { path: string } }[] }
    const [provider] = provisioning.providers
    expect(compose.services.grafana.volumes).toContain(
      `./deploy/grafana/dashboards:${provider?.options.path}:ro`,
    )
  })

  test.if(hasPackagingTools)("have only what Grafana's model of dashboards has", () => {
    expectValidDashboards(dashboards.map(({ path }) => path))
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
})
