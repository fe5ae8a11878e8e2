import { describe, expect, test } from 'bun:test'
import type { Sample } from './scenarios.ts'
import { buildTargets, formatVerdict, summarize } from './summary.ts'

const sample = (cpuMicrosPerUnit: number | null, firstP50 = 1): Sample => ({
  requests: 1,
  cpuMicrosPerUnit,
  perSecond: 1,
  p50: 1,
  p99: 2,
  firstP50,
  firstP99: 2,
})

describe('the summary of a benchmark', () => {
  test('compares within a round, so that a slow minute does not count as a slow gateway', () => {
    const samples = {
      whole: {
        relay: [50, 100, 500].map((cpu) => sample(cpu)),
        headgate: [75, 150, 750].map((cpu) => sample(cpu)),
      },
    }
    const row = summarize({ samples, memory: {} }).whole?.headgate
    expect(row).toMatchObject({ cpuMicros: 150, timesRelay: 1.5, timesPortkey: null, addedP50: null })
  })

  test('reports for each target whether it is met, or by how much it is missed', () => {
    const samples = {
      whole: { relay: [sample(50)], headgate: [sample(100)] },
      first: { direct: [sample(null, 0.5)], headgate: [sample(100, 1)] },
    }
    const step = { requested: 10, open: 10, openUpstream: 10, bytesPerStream: 60 * 1024 }
    const memory = { headgate: { idleBytes: 0, steps: [step], leftUpstream: 0 } }
    expect(buildTargets({ samples, memory }).map(formatVerdict)).toEqual([
      'missed by 0.40 x relay (25 %)',
      'not measured',
      'not measured',
      'missed by 10.00 KB (20 %)',
      'met (50 % to spare)',
      'not measured',
      'not measured',
      'not measured',
      'not measured',
      'not measured',
      'not measured',
      'not measured',
    ])
  })
})
