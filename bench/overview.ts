// The rows that describe Headgate in a few lines.
import { type Disturbance, type Figure, type Measurements, type Row, summarize, toFigure } from './summary.ts'

export interface OverviewLine {
  name: string
  unit: string
  digits: number
  figure: Figure
  /** Null for what does not depend on the load of the machine. */
  disturbance: Disturbance | null
}

const scenarioLines: [name: string, scenario: string, unit: string, of: (row: Row) => Figure | null][] = [
  ['CPU of a 1 KB request', 'small', 'x relay', (row) => row.timesRelay],
  ['CPU of a stream event', 'event', 'x relay', (row) => row.timesRelay],
  ['CPU of a 300 KB prompt', 'prompt', 'x relay', (row) => row.timesRelay],
  ['CPU of a request, 200 a second', 'rate-200', 'x relay', (row) => row.timesRelay],
  ['CPU of a request, 1,000 a second', 'rate-1000', 'x relay', (row) => row.timesRelay],
  ['latency at 200 a second, p50, over relay', 'rate-200', 'ms', (row) => row.overRelayP50],
  ['first token at 200 a second, p50, over relay', 'first', 'ms', (row) => row.overRelayFirstP50],
]

export function buildOverview({ samples, memory, allocations }: Measurements): OverviewLine[] {
  const summary = summarize(samples)
  const fromRows = scenarioLines.flatMap(([name, scenario, unit, of]) => {
    const row = summary[scenario]?.headgate
    const figure = row && of(row)
    return figure ? [{ name, unit, digits: 2, figure, disturbance: row.disturbance }] : []
  })
  const steps = memory.headgate?.steps ?? []
  const fromMemory = [
    toLine('idle memory', 'MB', memory.headgate ? [memory.headgate.idleBytes / 2 ** 20] : []),
    toLine(
      'memory of an open stream',
      'KB',
      steps.map((step) => step.bytesPerStream / 1024),
    ),
    toLine('memory that a 1 KB request allocates', 'KB', toKilobytes(allocations.headgate?.bytesPerRequest)),
    toLine('the same, relay', 'KB', toKilobytes(allocations.relay?.bytesPerRequest)),
  ].filter((line) => line !== null)
  return [...fromRows, ...fromMemory]
}

function toKilobytes(bytes: number[] = []): number[] {
  return bytes.map((value) => value / 1024)
}

function toLine(name: string, unit: string, values: number[]): OverviewLine | null {
  const figure = toFigure(values)
  return figure && { name, unit, digits: 1, figure, disturbance: null }
}
