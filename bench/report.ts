import type { CandidateName } from './candidates.ts'
import type { Scenario } from './scenarios.ts'
import { type Measured, type Row, summaryOf, targetsOf, verdict } from './summary.ts'

type Cell = string
type Rows = Partial<Record<CandidateName, Row>>

/** What people read; the same figures are in the JSON. */
export function report(measured: Measured, scenarios: Scenario[]): string {
  const summary = summaryOf(measured)
  const tables = scenarios.map((scenario) => {
    const rows = summary[scenario.id] ?? {}
    // Under full load a request waits for others: how long says how fast the machine is, not what the gateway adds.
    const lines = scenario.pauseMs > 0 ? latencyTable(scenario, rows) : cpuTable(scenario, rows)
    return `\n${scenario.title}\n${table(lines)}`
  })
  return [...tables, memorySection(measured), targetSection(measured), ''].join('\n')
}

function cpuTable({ units }: Scenario, rows: Rows): Cell[][] {
  const unit = units > 1 ? 'event' : 'request'
  const head = ['', `CPU us/${unit}`, 'x relay', 'x Portkey', `${unit}s/s`]
  const lines = Object.entries(rows).map(([name, row]) => [
    name,
    fixed(row.cpuMicros, 1),
    fixed(row.timesRelay, 2),
    fixed(row.timesPortkey, 3),
    fixed(row.perSecond, 0),
    ...(units > 1 ? [] : [row.p50, row.p99, row.addedP50, row.addedP99].map((value) => fixed(value, 2))),
  ])
  return [units > 1 ? head : [...head, ...latencyHead], ...lines]
}

const latencyHead = ['p50 ms', 'p99 ms', 'added p50', 'added p99']

function latencyTable({ wish }: Scenario, rows: Rows): Cell[][] {
  const lines = Object.entries(rows).map(([name, row]) => {
    const times = wish.streamed
      ? [row.firstP50, row.firstP99, row.addedFirstP50, row.addedFirstP99]
      : [row.p50, row.p99, row.addedP50, row.addedP99]
    return [name, ...times.map((value) => fixed(value, 2)), fixed(row.cpuMicros, 0)]
  })
  return [['', ...latencyHead, 'CPU us/request'], ...lines]
}

function memorySection({ memory }: Measured): string {
  const head = ['', 'idle MB', 'streams', 'open', 'open upstream', 'KB/stream', 'left upstream']
  const rows = Object.entries(memory).flatMap(([name, { idleBytes, steps, leftUpstream }]) =>
    steps.map((step) => [
      name,
      fixed(idleBytes / 2 ** 20, 0),
      String(step.asked),
      String(step.open),
      String(step.openUpstream),
      fixed(step.bytesPerStream / 1024, 1),
      String(leftUpstream),
    ]),
  )
  return `\nOpen streams, nothing flowing\n${table([head, ...rows])}`
}

function targetSection(measured: Measured): string {
  const rows = targetsOf(measured).map((target) => [
    target.name,
    `${fixed(target.value, 2)} ${target.unit}`,
    `<= ${target.atMost}`,
    verdict(target),
  ])
  return `\nTargets\n${table(rows)}`
}

function fixed(value: number | null, digits: number): Cell {
  return value === null || Number.isNaN(value) ? '-' : value.toFixed(digits)
}

function table(rows: Cell[][]): string {
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
