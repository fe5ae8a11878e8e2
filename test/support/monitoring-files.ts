import { Glob } from 'bun'

export interface Rule {
  alert: string
  expr: string
  for?: string
  labels: { severity: string }
  annotations: { summary: string; runbook: string }
}

export const alertsPath = 'deploy/prometheus/alerts.yaml'
const { groups } = Bun.YAML.parse(await Bun.file(alertsPath).text()) as {
  groups: { name: string; rules: Rule[] }[]
}
export const rules = groups.flatMap((group) => group.rules)

export interface DataSource {
  uid: string
  type: string
}

interface Panel {
  id: number
  title: string
  datasource: DataSource
  gridPos: { x: number; y: number }
  /** Of Prometheus (`expr`), or of Tempo (`query`). */
  targets: { expr?: string; query?: string; datasource: DataSource }[]
}

interface Variable {
  type: string
  /** Absent from what the user types in. */
  datasource?: DataSource
  query: string | { query: string }
}

interface Dashboard {
  uid: string
  title: string
  panels: Panel[]
  templating: { list: Variable[] }
}

export const dashboards = await Promise.all(
  [...new Glob('deploy/grafana/dashboards/*.json').scanSync('.')].map(async (path) => ({
    path,
    ...((await Bun.file(path).json()) as Dashboard),
  })),
)
export const panels = dashboards.flatMap(({ uid, panels }) => panels.map((panel) => ({ uid, ...panel })))

/** Variables whose values come from Prometheus. */
export const variables = dashboards.flatMap(({ uid, templating }) =>
  templating.list.flatMap(({ query }) => (typeof query === 'string' ? [] : [{ uid, query: query.query }])),
)
