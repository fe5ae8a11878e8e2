import type { Candidate, CandidateName } from './candidates.ts'
import { cpuMicros } from './cpu-clock.ts'
import { generateLoad } from './load.ts'
import { disturbanceBetween, type LoadSnapshot, takeLoadSnapshot } from './machine-load.ts'
import type { Effort, Scenario } from './scenarios.ts'
import { percentile } from './statistics.ts'

/** One block: a candidate under the load of a scenario. */
export interface Sample {
  requests: number
  /** CPU time of the gateway's process; null without a gateway. */
  cpuMicrosPerUnit: number | null
  perSecond: number
  p50: number
  p99: number
  firstP50: number
  firstP99: number
  /** The share of the machine that others used meanwhile. */
  disturbance: number
}

export type Samples = Record<string, Partial<Record<CandidateName, Sample[]>>>

/** Maximum factor by which a warm-up is longer on a machine that is too slow or too busy for the requests. */
const maxWarmUpFactor = 4

/** Sends enough requests for the runtime to compile hot code: a gateway runs for weeks, not for seconds. */
export async function warmUp(candidate: Candidate, scenarios: Scenario[], effort: Effort): Promise<void> {
  const shares = scenarios.reduce((sum, row) => sum + row.warmUp, 0)
  // A single row gets half of the time, many rows share more than all of it.
  const scale = Math.max(1, 0.5 / shares)
  for (const row of scenarios) {
    const requests = candidate.encodeRequests(row.spec)
    const durationMs = row.durationMs === 0 ? 0 : effort.warmMs * row.warmUp * scale
    const load = { ...row, port: candidate.port, requests, durationMs }
    const deadline = performance.now() + durationMs * maxWarmUpFactor
    let missing = effort.warmRequests * row.warmUp * scale
    do missing -= (await generateLoad(load)).length
    while (missing > 0 && performance.now() < deadline)
  }
  await candidate.settle()
}

async function measure(candidate: Candidate, scenario: Scenario, mockPid: number): Promise<Sample> {
  const { pid, port, helpers } = candidate
  const roots = [mockPid, ...helpers, ...(pid === null ? [] : [pid])]
  const requests = candidate.encodeRequests(scenario.spec)
  let cpuBefore = 0
  let startedAt = 0
  let before: LoadSnapshot | undefined
  const timings = await generateLoad({ ...scenario, port, requests }, () => {
    before = takeLoadSnapshot(roots)
    if (pid !== null) cpuBefore = cpuMicros(pid)
    startedAt = performance.now()
  })
  const seconds = (performance.now() - startedAt) / 1000
  await candidate.settle()
  const cpu = pid === null ? null : cpuMicros(pid) - cpuBefore
  const units = timings.length * scenario.units
  const totals = timings.map((timing) => timing.total)
  const firsts = timings.map((timing) => timing.first)
  return {
    requests: timings.length,
    cpuMicrosPerUnit: cpu === null ? null : cpu / units,
    perSecond: units / seconds,
    p50: percentile(totals, 0.5),
    p99: percentile(totals, 0.99),
    firstP50: percentile(firsts, 0.5),
    firstP99: percentile(firsts, 0.99),
    disturbance: before ? disturbanceBetween(before, takeLoadSnapshot(roots)) : 0,
  }
}

/** Short blocks in random order, so that other load on the machine affects all candidates alike. */
export async function measureRounds(
  candidates: Candidate[],
  scenarios: Scenario[],
  { rounds, mockPid, onBlock }: { rounds: number; mockPid: number; onBlock: () => void },
): Promise<Samples> {
  const samples: Samples = {}
  for (let round = 0; round < rounds; round++) {
    for (const scenario of shuffle(scenarios)) {
      const participants = candidates.filter(({ name }) => scenario.candidates.includes(name))
      for (const candidate of shuffle(participants)) {
        onBlock()
        addSample(samples, scenario.id, candidate.name, await measure(candidate, scenario, mockPid))
      }
    }
  }
  return samples
}

function addSample(samples: Samples, id: string, name: CandidateName, sample: Sample): void {
  const others = samples[id] ?? {}
  samples[id] = { ...others, [name]: [...(others[name] ?? []), sample] }
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
