import { describe, expect, test } from 'bun:test'
import type { Sample } from './measure.ts'
import { buildOverview } from './overview.ts'
import { summarize } from './summary.ts'
import { buildTargets, formatVerdict } from './targets.ts'

const sample = (cpuMicrosPerUnit: number | null, firstP50 = 1, disturbance = 0): Sample => ({
  requests: 1,
  cpuMicrosPerUnit,
  perSecond: 1,
  p50: 1,
  p99: 2,
  firstP50,
  firstP99: 2,
  disturbance,
})
const busy = (cpu: number) => sample(cpu, 1, 0.5)

describe('the summary of a benchmark', () => {
  test('compares within a round, so that a slow minute does not count as a slow gateway', () => {
    const samples = {
      small: {
        relay: [50, 100, 500].map((cpu) => sample(cpu)),
        headgate: [75, 150, 750].map((cpu) => sample(cpu)),
      },
    }
    expect(summarize(samples).small?.headgate).toMatchObject({
      cpuMicros: { median: 150, low: 112.5, high: 450 },
      timesRelay: { median: 1.5, low: 1.5, high: 1.5 },
      timesPortkey: null,
      addedP50: null,
      disturbance: { share: 0, rounds: 3, leftOut: 0, isDoubtful: false },
    })
  })

  test('leaves out rounds in which the machine was busy with something else', () => {
    const samples = {
      small: {
        relay: [sample(50), sample(50), busy(10), sample(50)],
        headgate: [sample(100), busy(900), sample(100), sample(100)],
      },
    }
    const row = summarize(samples).small?.headgate
    expect(row?.timesRelay).toEqual({ median: 2, low: 2, high: 2 })
    expect(row?.disturbance).toEqual({ share: 0, rounds: 4, leftOut: 2, isDoubtful: false })
  })

  test('counts all rounds and marks the row if most of them were disturbed', () => {
    const samples = {
      small: {
        relay: [busy(50), busy(50), sample(50)],
        headgate: [busy(200), busy(150), sample(100)],
      },
    }
    const row = summarize(samples).small?.headgate
    expect(row?.timesRelay?.median).toBe(3)
    expect(row?.disturbance).toEqual({ share: 0.5, rounds: 3, leftOut: 0, isDoubtful: true })
  })

  const samples = {
    small: { relay: [sample(50)], headgate: [sample(100)] },
    first: { direct: [sample(null, 0.5)], headgate: [sample(100, 1)] },
  }
  const step = { requested: 10, open: 10, openUpstream: 10, bytesPerStream: 60 * 1024 }
  const memory = { headgate: { idleBytes: 2 ** 20, steps: [step], leftUpstream: 0 } }
  const allocations = { headgate: { bytesPerRequest: [1024, 3072, 2048] } }

  test('reports for each target whether it is met, or by how much it is missed', () => {
    const targets = buildTargets({ samples, memory, allocations })
    const verdicts = targets.map((target) => `${target.name}: ${formatVerdict(target)}`)
    expect(verdicts.filter((verdict) => !verdict.endsWith('not measured'))).toEqual([
      'CPU of a 1 KB request: met (9 % to spare)',
      'idle memory: met (99 % to spare)',
      'memory of an open stream: missed by 30.00 KB (100 %)',
      'first token later than direct, p50: met (50 % to spare)',
    ])
    expect(verdicts).toHaveLength(16)
  })

  test('describes Headgate with what was measured, and nothing else', () => {
    const lines = buildOverview({ samples, memory, allocations })
    expect(lines.map(({ name, figure, unit }) => `${name}: ${figure.median} ${unit}`)).toEqual([
      'CPU of a 1 KB request: 2 x relay',
      'idle memory: 1 MB',
      'memory of an open stream: 60 KB',
      'memory that a 1 KB request allocates: 2 KB',
    ])
  })
})
