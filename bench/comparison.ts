// Headgate of this checkout compared with that of another one.
import type { CandidateName } from './candidates.ts'
import { disturbanceLimit } from './machine-load.ts'
import type { Sample, Samples } from './measure.ts'
import type { Scenario } from './scenarios.ts'
import { type Estimate, estimateMedian, median, type Range } from './statistics.ts'
import { areDoubtful, compareBlocks, ratio } from './summary.ts'

export interface Comparison {
  id: string
  metric: string
  here: number
  there: number
  /** Difference to the other checkout, in per cent of it. */
  change: Estimate
  pairs: number
  /** The machine was busy in most of them. */
  isDoubtful: boolean
}

const metrics = {
  cpu: (sample: Sample) => sample.cpuMicrosPerUnit,
  latency: (sample: Sample) => sample.p50,
  firstToken: (sample: Sample) => sample.firstP50,
}

/** CPU in every row; latency only at a fixed rate, where it is not queueing. */
export function compareCheckouts(samples: Samples, scenarios: Scenario[]): Comparison[] {
  return scenarios.flatMap(({ id, perSecond, spec, units }) => {
    const ours = samples[id]?.headgate ?? []
    const others = samples[id]?.against ?? []
    const compare = (metric: string, of: (sample: Sample) => number | null): Comparison => {
      const changes = compareBlocks(ours, others, of, ratio).map((value) => (value - 1) * 100)
      const middle = (blocks: Sample[]) => median(blocks.map((sample) => of(sample) ?? Number.NaN))
      return {
        id,
        metric,
        here: middle(ours),
        there: middle(others),
        change: estimateMedian(changes),
        pairs: changes.length,
        isDoubtful: areDoubtful(ours, others),
      }
    }
    const cpu = compare(`CPU us/${units > 1 ? 'event' : 'request'}`, metrics.cpu)
    if (perSecond === null) return [cpu]
    return [
      cpu,
      spec.streamed
        ? compare('first token p50 ms', metrics.firstToken)
        : compare('latency p50 ms', metrics.latency),
    ]
  })
}

export function formatComparison({ change, isDoubtful }: Comparison): string {
  return `${describeChange(change)}${isDoubtful ? ' (busy machine!)' : ''}`
}

function describeChange({ interval }: Estimate): string {
  if (!interval) return 'too few pairs to tell'
  if (interval.high < 0) return 'better'
  if (interval.low > 0) return 'worse'
  return 'no difference seen'
}

export function formatInterval(interval: Range | null): string {
  return interval ? `${formatChange(interval.low)} to ${formatChange(interval.high)}` : '-'
}

export function formatChange(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(1)} %`
}

/** The blocks of one start of both servers as one: the median of each metric over the undisturbed blocks. */
function combineBlocks(blocks: Sample[]): Sample {
  const calm = blocks.filter(({ disturbance }) => disturbance <= disturbanceLimit)
  const used = calm.length > 0 ? calm : blocks
  const middle = (of: (sample: Sample) => number) => median(used.map(of))
  const cpu = used.map((sample) => sample.cpuMicrosPerUnit).filter((value) => value !== null)
  return {
    requests: blocks.reduce((sum, { requests }) => sum + requests, 0),
    cpuMicrosPerUnit: cpu.length === 0 ? null : median(cpu),
    perSecond: middle((sample) => sample.perSecond),
    p50: middle((sample) => sample.p50),
    p99: middle((sample) => sample.p99),
    firstP50: middle((sample) => sample.firstP50),
    firstP99: middle((sample) => sample.firstP99),
    disturbance: middle((sample) => sample.disturbance),
  }
}

export function combineSamples(samples: Samples): Samples {
  return mapSamples(samples, (blocks) => [combineBlocks(blocks)])
}

/** The rounds of `later` after those of `earlier`. */
export function appendSamples(earlier: Samples, later: Samples): Samples {
  return mapSamples(later, (blocks, id, name) => [...(earlier[id]?.[name] ?? []), ...blocks])
}

function mapSamples(
  samples: Samples,
  change: (blocks: Sample[], id: string, name: CandidateName) => Sample[],
): Samples {
  return Object.fromEntries(
    Object.entries(samples).map(([id, byName]) => [
      id,
      Object.fromEntries(
        Object.entries(byName).map(([name, blocks]) => [name, change(blocks, id, name as CandidateName)]),
      ),
    ]),
  )
}
