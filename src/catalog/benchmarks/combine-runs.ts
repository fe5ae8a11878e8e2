import { type BenchmarkResult, formatResultKey } from './result.ts'
import { standardDeviation, weightedMean, windowDays } from './statistics.ts'

const dayMs = 86_400_000

/** One result for all runs of the same benchmark with the same configuration, from the 32 days before the newest. */
export function combineRuns(results: readonly BenchmarkResult[]): BenchmarkResult[] {
  const groups = Map.groupBy(results, (result) => formatResultKey({ ...result, runId: '' }))
  return [...groups.values()].flatMap((group) => combineGroup(group) ?? [])
}

function combineGroup(group: readonly BenchmarkResult[]): BenchmarkResult | null {
  const [newest, ...others] = group.toSorted((a, b) => Date.parse(b.measuredAt) - Date.parse(a.measuredAt))
  if (!newest || others.length === 0) return newest ?? null
  const oldest = Date.parse(newest.measuredAt) - windowDays * dayMs
  const runs = [newest, ...others.filter(({ measuredAt }) => Date.parse(measuredAt) >= oldest)]
  if (runs.length === 1) return newest
  const average = (read: (run: BenchmarkResult) => number | null) =>
    weightedMean(runs.map((run) => ({ value: read(run), weight: run.tasks })))
  const cost = average(({ costNanos }) => (costNanos === null ? null : Number(costNanos)))
  return {
    ...newest,
    score: average(({ score }) => score) ?? newest.score,
    deviation: standardDeviation(runs.map(({ score }) => score)),
    costNanos: cost === null ? null : BigInt(Math.round(cost)),
    latencyMs: average(({ latencyMs }) => latencyMs),
    tasks: runs.reduce((sum, { tasks }) => sum + (tasks ?? 0), 0),
  }
}
