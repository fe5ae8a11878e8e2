import type { AllocationUsage } from './allocations.ts'
import { type CandidateName, candidateNames } from './candidates.ts'
import { disturbanceLimit } from './machine-load.ts'
import type { Sample, Samples } from './measure.ts'
import type { MemoryUsage } from './memory.ts'
import { median, quartiles } from './statistics.ts'

export interface Measurements {
  samples: Samples
  memory: Partial<Record<CandidateName, MemoryUsage>>
  allocations: Partial<Record<CandidateName, AllocationUsage>>
}

/** A median over the rounds, and the middle half of them. */
export interface Figure {
  median: number
  low: number
  high: number
}

/** One candidate in one scenario. Ratios and differences are computed within a round first. Null: not measured. */
export interface Row {
  cpuMicros: Figure | null
  timesRelay: Figure | null
  timesPortkey: Figure | null
  perSecond: Figure | null
  p50: Figure | null
  p99: Figure | null
  firstP50: Figure | null
  firstP99: Figure | null
  /** Latency beyond that of `direct`. */
  addedP50: Figure | null
  addedP99: Figure | null
  addedFirstP50: Figure | null
  addedFirstP99: Figure | null
  /** Latency beyond that of `relay`. */
  overRelayP50: Figure | null
  overRelayFirstP50: Figure | null
  /** Figures beyond those of the same gateway without its ledger. */
  ledgerMicros: Figure | null
  ledgerP99: Figure | null
  disturbance: Disturbance
}

/** The load of the machine by others. */
export interface Disturbance {
  /** The median share of the machine. */
  share: number
  rounds: number
  /** Rounds left out because the block of the candidate, or of the relay, was disturbed. */
  leftOut: number
  /** Whether more than half of the rounds were disturbed, so that all of them count. */
  isDoubtful: boolean
}

export type Summary = Record<string, Partial<Record<CandidateName, Row>>>

type MetricSelector = (sample: Sample) => number | null
type BlocksByName = Partial<Record<CandidateName, Sample[]>>

export function summarize(samples: Samples): Summary {
  const rows = Object.entries(samples).map(([scenario, byName]) => {
    const names = candidateNames.filter((name) => byName[name])
    return [scenario, Object.fromEntries(names.map((name) => [name, buildRow(byName, name)]))]
  })
  return Object.fromEntries(rows)
}

function buildRow(byName: BlocksByName, name: CandidateName): Row {
  const ours = byName[name] ?? []
  const alone = (of: MetricSelector) =>
    toFigure(selectRounds([ours]).rounds.map((round) => readMetric(ours, round, of)))
  const compareWith = (other: CandidateName, of: MetricSelector, how: typeof ratio) =>
    toFigure(compareBlocks(ours, byName[other] ?? [], of, how))
  const cpu: MetricSelector = (sample) => sample.cpuMicrosPerUnit
  const added = (of: MetricSelector) => compareWith('direct', of, difference)
  return {
    cpuMicros: alone(cpu),
    timesRelay: compareWith('relay', cpu, ratio),
    timesPortkey: compareWith('portkey', cpu, ratio),
    perSecond: alone((sample) => sample.perSecond),
    p50: alone((sample) => sample.p50),
    p99: alone((sample) => sample.p99),
    firstP50: alone((sample) => sample.firstP50),
    firstP99: alone((sample) => sample.firstP99),
    addedP50: added((sample) => sample.p50),
    addedP99: added((sample) => sample.p99),
    addedFirstP50: added((sample) => sample.firstP50),
    addedFirstP99: added((sample) => sample.firstP99),
    overRelayP50: compareWith('relay', (sample) => sample.p50, difference),
    overRelayFirstP50: compareWith('relay', (sample) => sample.firstP50, difference),
    ledgerMicros: compareWith('no-ledger', cpu, difference),
    ledgerP99: compareWith('no-ledger', (sample) => sample.p99, difference),
    disturbance: summarizeDisturbance(ours, byName.relay),
  }
}

/** The comparison of each round in which neither block was disturbed; of all if these are too few. */
export function compareBlocks(
  ours: Sample[],
  others: Sample[],
  of: MetricSelector,
  how: (value: number, other: number) => number,
): number[] {
  return selectRounds([ours, others]).rounds.flatMap((round) => {
    const value = readMetric(ours, round, of)
    const other = readMetric(others, round, of)
    return value === null || other === null ? [] : [how(value, other)]
  })
}

export const ratio = (value: number, other: number) => value / other
const difference = (value: number, other: number) => value - other

/** Whether most rounds were disturbed. */
export function areDoubtful(ours: Sample[], others: Sample[]): boolean {
  return selectRounds([ours, others]).isDoubtful
}

function readMetric(blocks: Sample[], round: number, of: MetricSelector): number | null {
  const sample = blocks[round]
  return sample ? of(sample) : null
}

/** The rounds that every candidate has and that were not disturbed, if these are at least half of them. */
function selectRounds(candidates: Sample[][]): { rounds: number[]; isDoubtful: boolean } {
  const count = Math.min(...candidates.map((blocks) => blocks.length))
  const all = Array.from({ length: count }, (_, round) => round)
  const calm = all.filter((round) =>
    candidates.every((blocks) => (blocks[round]?.disturbance ?? 0) <= disturbanceLimit),
  )
  return calm.length * 2 >= count ? { rounds: calm, isDoubtful: false } : { rounds: all, isDoubtful: true }
}

function summarizeDisturbance(ours: Sample[], relay: Sample[] | undefined): Disturbance {
  const { rounds, isDoubtful } = selectRounds(relay ? [ours, relay] : [ours])
  return {
    share: median(ours.map((sample) => sample.disturbance)),
    rounds: ours.length,
    leftOut: ours.length - rounds.length,
    isDoubtful,
  }
}

export function toFigure(values: (number | null)[]): Figure | null {
  const numbers = values.filter((value) => value !== null)
  return numbers.length === 0 ? null : { median: median(numbers), ...quartiles(numbers) }
}
