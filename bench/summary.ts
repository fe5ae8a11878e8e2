import { type CandidateName, candidateNames } from './candidates.ts'
import type { MemoryUsage } from './memory.ts'
import type { Sample, Samples } from './scenarios.ts'
import { median } from './statistics.ts'

export interface Measurements {
  samples: Samples
  memory: Partial<Record<CandidateName, MemoryUsage>>
}

export interface Target {
  name: string
  unit: string
  atMost: number
  /** Null if the reference was not measured. */
  value: number | null
}

/** One candidate in one scenario: medians over the rounds. Ratios and differences are computed within a round first. */
export interface Row {
  cpuMicros: number | null
  timesRelay: number | null
  timesPortkey: number | null
  perSecond: number | null
  p50: number | null
  p99: number | null
  firstP50: number | null
  firstP99: number | null
  addedP50: number | null
  addedP99: number | null
  addedFirstP50: number | null
  addedFirstP99: number | null
  /** More than the same gateway without its ledger. */
  ledgerMicros: number | null
  ledgerP99: number | null
}

export type Summary = Record<string, Partial<Record<CandidateName, Row>>>

type MetricSelector = (sample: Sample) => number | null

export function summarize({ samples }: Measurements): Summary {
  const rows = Object.entries(samples).map(([scenario, byName]) => {
    const names = candidateNames.filter((name) => byName[name])
    return [scenario, Object.fromEntries(names.map((name) => [name, buildRow(byName, name)]))]
  })
  return Object.fromEntries(rows)
}

function buildRow(byName: Partial<Record<CandidateName, Sample[]>>, name: CandidateName): Row {
  const ours = byName[name] ?? []
  const median = (of: MetricSelector) => medianOf(ours.map(of))
  const compareWith = (other: CandidateName, of: MetricSelector, how: typeof ratio) =>
    medianOf(ours.map((sample, round) => comparePair(of(sample), byName[other]?.[round], of, how)))
  const cpu: MetricSelector = (sample) => sample.cpuMicrosPerUnit
  const added = (of: MetricSelector) => compareWith('direct', of, difference)
  return {
    cpuMicros: median(cpu),
    timesRelay: compareWith('relay', cpu, ratio),
    timesPortkey: compareWith('portkey', cpu, ratio),
    perSecond: median((sample) => sample.perSecond),
    p50: median((sample) => sample.p50),
    p99: median((sample) => sample.p99),
    firstP50: median((sample) => sample.firstP50),
    firstP99: median((sample) => sample.firstP99),
    addedP50: added((sample) => sample.p50),
    addedP99: added((sample) => sample.p99),
    addedFirstP50: added((sample) => sample.firstP50),
    addedFirstP99: added((sample) => sample.firstP99),
    ledgerMicros: compareWith('no-ledger', cpu, difference),
    ledgerP99: compareWith('no-ledger', (sample) => sample.p99, difference),
  }
}

function comparePair(
  value: number | null,
  other: Sample | undefined,
  of: MetricSelector,
  how: typeof ratio,
): number | null {
  const otherValue = other ? of(other) : null
  return value === null || otherValue === null ? null : how(value, otherValue)
}

const ratio = (value: number, other: number) => value / other
const difference = (value: number, other: number) => value - other

function medianOf(values: (number | null)[]): number | null {
  const numbers = values.filter((value) => value !== null)
  return numbers.length === 0 ? null : median(numbers)
}

/** The performance targets of the project. */
export function buildTargets(measured: Measurements): Target[] {
  const summary = summarize(measured)
  const of = (scenario: string) => summary[scenario]?.headgate
  const { steps = [] } = measured.memory.headgate ?? {}
  const perStream = steps.length === 0 ? null : Math.max(...steps.map((step) => step.bytesPerStream)) / 1024
  const promptMicros = of('prompt')?.cpuMicros ?? null
  const manyKeys = summary.whole?.['many-keys']?.cpuMicros
  const oneKey = of('whole')?.cpuMicros
  const target = (name: string, unit: string, atMost: number, value: number | null | undefined): Target => ({
    name,
    unit,
    atMost,
    value: value ?? null,
  })
  return [
    target('CPU of a 1 KB request', 'x relay', 1.6, of('whole')?.timesRelay),
    target('CPU of a 1 KB request', 'x Portkey', 0.1, of('whole')?.timesPortkey),
    target('CPU of a stream event', 'x relay', 1.3, of('events')?.timesRelay),
    target('memory of an open stream', 'KB', 50, perStream),
    target('first token later than direct, p50', 'ms', 1, of('first')?.addedFirstP50),
    target('CPU the ledger adds to a 1 KB request', 'us', 20, of('whole')?.ledgerMicros),
    target('the ledger at the end of a reply, 1,000 a second, p99', 'ms', 10, of('steady')?.ledgerP99),
    target(
      'one key with all the traffic',
      'x many keys',
      1.05,
      oneKey && manyKeys ? oneKey / manyKeys : null,
    ),
    target('CPU of an embedding as float', 'x relay', 2, of('embedding-float')?.timesRelay),
    target('CPU of an embedding as base64', 'x relay', 2, of('embedding-base64')?.timesRelay),
    target('CPU of an image of 5 MB', 'x relay', 2, of('image')?.timesRelay),
    target('CPU of a 300 KB prompt', 'ms', 1.5, promptMicros === null ? null : promptMicros / 1000),
  ]
}

export function formatVerdict({ atMost, value, unit }: Target): string {
  if (value === null) return 'not measured'
  const over = value - atMost
  if (over <= 0) return `met (${percent(-over, atMost)} to spare)`
  return `missed by ${over.toFixed(2)} ${unit} (${percent(over, atMost)})`
}

function percent(part: number, whole: number): string {
  return `${((part / whole) * 100).toFixed(0)} %`
}
