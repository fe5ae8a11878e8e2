import type { Candidate, CandidateName } from './candidates.ts'
import { cpuMicros } from './cpu-clock.ts'
import { generateLoad } from './load.ts'
import type { RequestSpec } from './requests.ts'
import { percentile } from './statistics.ts'

export interface Scenario {
  id: string
  title: string
  spec: RequestSpec
  connections: number
  durationMs: number
  pauseMs: number
  /** Units per request that the CPU time is divided by. */
  units: number
}

export interface Sample {
  requests: number
  /** Of the gateway's process; null without a gateway. */
  cpuMicrosPerUnit: number | null
  perSecond: number
  p50: number
  p99: number
  firstP50: number
  firstP99: number
}

export interface Effort {
  warmMs: number
  rounds: number
  blockMs: number
  streamEvents: number
  openStreams: number
  openStreamsHeadgate: number
}

export const thorough: Effort = {
  warmMs: 11_000,
  rounds: 6,
  blockMs: 1200,
  streamEvents: 250,
  openStreams: 2000,
  openStreamsHeadgate: 4000,
}
export const quick: Effort = {
  warmMs: 2500,
  rounds: 3,
  blockMs: 400,
  streamEvents: 75,
  openStreams: 500,
  openStreamsHeadgate: 1000,
}

const connections = 32
/** 32 streams with one event per 8 ms: 4,000 events per second, few enough that each is read separately. */
const paceMs = 8
const smallPromptBytes = 880
const longPromptBytes = 300_000

/** Light load: no request waits for another, so that latency is not queueing. */
const lightLoad = { connections: 4, pauseMs: 5 }
/** About a thousand requests per second. */
const steadyLoad = { connections: 32, pauseMs: 30 }

export function buildScenarios({ blockMs, streamEvents }: Effort): Scenario[] {
  const whole = { model: 'whole', promptBytes: smallPromptBytes, streamed: false }
  const embedding = (encoding: 'float' | 'base64') => ({
    id: `embedding-${encoding}`,
    title: `1 KB text, an embedding of 1,536 numbers as ${encoding}, ${connections} connections`,
    spec: { ...whole, model: `embedding-${encoding}`, embedding: encoding },
    connections,
    durationMs: blockMs / 2,
    pauseMs: 0,
    units: 1,
  })
  const stream = (model: string) => ({ model, promptBytes: smallPromptBytes, streamed: true })
  return [
    {
      id: 'whole',
      title: `1 KB request and reply, ${connections} connections`,
      spec: whole,
      connections,
      durationMs: blockMs,
      pauseMs: 0,
      units: 1,
    },
    {
      id: 'events',
      title: `${connections} streams, an event every ${paceMs} ms in each`,
      spec: stream(`stream-${streamEvents}-${paceMs}`),
      connections,
      durationMs: 0,
      pauseMs: 0,
      units: streamEvents,
    },
    {
      id: 'prompt',
      title: '300 KB prompt, 8 connections',
      spec: { ...whole, promptBytes: longPromptBytes },
      connections: 8,
      durationMs: blockMs / 2,
      pauseMs: 0,
      units: 1,
    },
    embedding('float'),
    embedding('base64'),
    {
      id: 'image',
      title: 'an image of 5 MB, 4 connections',
      spec: { ...whole, model: 'image' },
      connections: 4,
      durationMs: blockMs / 2,
      pauseMs: 0,
      units: 1,
    },
    {
      id: 'light',
      title: '1 KB request and reply, light load',
      spec: whole,
      ...lightLoad,
      durationMs: blockMs / 2,
      units: 1,
    },
    {
      id: 'steady',
      title: '1 KB request and reply, 1,000 a second',
      spec: whole,
      ...steadyLoad,
      durationMs: blockMs,
      units: 1,
    },
    {
      id: 'first',
      title: 'first token, light load',
      spec: stream('stream-3-1'),
      ...lightLoad,
      durationMs: blockMs / 2,
      units: 1,
    },
  ]
}

export function listModels(scenarios: Scenario[]): string[] {
  return [...new Set([...scenarios.map((scenario) => scenario.spec.model), 'hold'])]
}

const warmUpShares: Record<string, number> = {
  whole: 0.4,
  prompt: 0.2,
  'embedding-float': 0.1,
  'embedding-base64': 0.1,
  image: 0.1,
  light: 0.05,
  first: 0.05,
}

/** Long enough for the runtime to compile hot code: a gateway runs for weeks, not for seconds. */
export async function warmUp(candidate: Candidate, scenarios: Scenario[], warmMs: number): Promise<void> {
  for (const scenario of scenarios) {
    const requests = candidate.encodeRequests(scenario.spec)
    const durationMs = scenario.durationMs === 0 ? 0 : warmMs * (warmUpShares[scenario.id] ?? 0)
    await generateLoad({ ...scenario, port: candidate.port, requests, durationMs })
  }
}

export async function measure(candidate: Candidate, scenario: Scenario): Promise<Sample> {
  const { pid, port } = candidate
  const requests = candidate.encodeRequests(scenario.spec)
  let cpuBefore = 0
  let startedAt = 0
  const timings = await generateLoad({ ...scenario, port, requests }, () => {
    if (pid !== null) cpuBefore = cpuMicros(pid)
    startedAt = performance.now()
  })
  const seconds = (performance.now() - startedAt) / 1000
  const units = timings.length * scenario.units
  const totals = timings.map((timing) => timing.total)
  const firsts = timings.map((timing) => timing.first)
  return {
    requests: timings.length,
    cpuMicrosPerUnit: pid === null ? null : (cpuMicros(pid) - cpuBefore) / units,
    perSecond: units / seconds,
    p50: percentile(totals, 0.5),
    p99: percentile(totals, 0.99),
    firstP50: percentile(firsts, 0.5),
    firstP99: percentile(firsts, 0.99),
  }
}

export type Samples = Record<string, Partial<Record<CandidateName, Sample[]>>>

/** Short blocks in random order, so that other load on the machine affects all candidates alike. */
export async function measureRounds(
  candidates: Candidate[],
  scenarios: Scenario[],
  rounds: number,
  onBlock: (done: number, all: number) => void,
): Promise<Samples> {
  const samples: Samples = {}
  const all = rounds * scenarios.length * candidates.length
  let done = 0
  for (let round = 0; round < rounds; round++) {
    for (const scenario of shuffle(scenarios)) {
      for (const candidate of shuffle(candidates)) {
        onBlock(done++, all)
        const sample = await measure(candidate, scenario)
        const others = samples[scenario.id] ?? {}
        const earlier = others[candidate.name] ?? []
        samples[scenario.id] = { ...others, [candidate.name]: [...earlier, sample] }
      }
    }
  }
  return samples
}

function shuffle<T>(values: T[]): T[] {
  const result = [...values]
  for (let last = result.length - 1; last > 0; last--) {
    const other = Math.floor(Math.random() * (last + 1))
    const swapped = result[last] as T
    result[last] = result[other] as T
    result[other] = swapped
  }
  return result
}
