import type { CandidateName } from './candidates.ts'
import type { Scenario } from './scenarios.ts'
import { buildTargets, formatVerdict, type Measurements, type Row, summarize } from './summary.ts'

type Cell = string
type Rows = Partial<Record<CandidateName, Row>>

/** The human-readable form of the JSON result. */
export function formatReport(measured: Measurements, scenarios: Scenario[]): string {
  const summary = summarize(measured)
  const tables = scenarios.map((scenario) => {
    const rows = summary[scenario.id] ?? {}
    // Under full load, latency is queueing: it measures the machine, not what the gateway adds.
    const lines = scenario.pauseMs > 0 ? buildLatencyTable(scenario, rows) : buildCpuTable(scenario, rows)
    return `\n${scenario.title}\n${formatTable(lines)}`
  })
  return [...tables, formatMemorySection(measured), formatTargetSection(measured), ''].join('\n')
}

function buildCpuTable({ units }: Scenario, rows: Rows): Cell[][] {
  const unit = units > 1 ? 'event' : 'request'
  const head = ['', `CPU us/${unit}`, 'x relay', 'x Portkey', `${unit}s/s`]
  const lines = Object.entries(rows).map(([name, row]) => [
    name,
    formatNumber(row.cpuMicros, 1),
    formatNumber(row.timesRelay, 2),
    formatNumber(row.timesPortkey, 3),
    formatNumber(row.perSecond, 0),
    ...(units > 1
      ? []
      : [row.p50, row.p99, row.addedP50, row.addedP99].map((value) => formatNumber(value, 2))),
  ])
  return [units > 1 ? head : [...head, ...latencyHead], ...lines]
}

const latencyHead = ['p50 ms', 'p99 ms', 'added p50', 'added p99']

function buildLatencyTable({ spec }: Scenario, rows: Rows): Cell[][] {
  const lines = Object.entries(rows).map(([name, row]) => {
    const times = spec.streamed
      ? [row.firstP50, row.firstP99, row.addedFirstP50, row.addedFirstP99]
      : [row.p50, row.p99, row.addedP50, row.addedP99]
    return [name, ...times.map((value) => formatNumber(value, 2)), formatNumber(row.cpuMicros, 0)]
  })
  return [['', ...latencyHead, 'CPU us/request'], ...lines]
}

function formatMemorySection({ memory }: Measurements): string {
  const head = ['', 'idle MB', 'streams', 'open', 'open upstream', 'KB/stream', 'left upstream']
  const rows = Object.entries(memory).flatMap(([name, { idleBytes, steps, leftUpstream }]) =>
    steps.map((step) => [
      name,
      formatNumber(idleBytes / 2 ** 20, 0),
      String(step.requested),
      String(step.open),
      String(step.openUpstream),
      formatNumber(step.bytesPerStream / 1024, 1),
      String(leftUpstream),
    ]),
  )
  return `\nOpen streams, nothing flowing\n${formatTable([head, ...rows])}`
}

function formatTargetSection(measured: Measurements): string {
  const rows = buildTargets(measured).map((target) => [
    target.name,
    `${formatNumber(target.value, 2)} ${target.unit}`,
    `<= ${target.atMost}`,
    formatVerdict(target),
  ])
  return `\nTargets\n${formatTable(rows)}`
}

function formatNumber(value: number | null, digits: number): Cell {
  return value === null || Number.isNaN(value) ? '-' : value.toFixed(digits)
}

function formatTable(rows: Cell[][]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  return rows
    .map((row) => {
      const cells = row.map((cell, column) =>
        column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      return `  ${cells.join('  ')}`
    })
    .join('\n')
}
