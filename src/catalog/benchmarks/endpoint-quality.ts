import type { Endpoint, Model } from '../model.ts'
import type { BenchmarkResult } from './result.ts'
import { baselineDays, computeQualityFloor, mean, minTasks, weightedMean, windowDays } from './statistics.ts'

const minuteMs = 60_000
const dayMs = 86_400_000

interface Run {
  benchmark: string
  endpoint: string
  at: number
  score: number
  tasks: number
}

/** The performance of an endpoint in benchmarks that were run at it. */
export interface EndpointQuality {
  /** The difference of its accuracy from the average of the endpoints of its model. */
  relative: number
  /** Significantly worse than the endpoints of its model were before. */
  isDegraded: boolean
}

interface Assessment {
  minute: number
  byTag: ReadonlyMap<string, EndpointQuality>
}

/** Compares the endpoints of a model by runs of the last 32 days. Computed at most once a minute for each model. */
export class EndpointQualities {
  readonly #runs: ReadonlyMap<string, Run[]>
  readonly #assessments = new Map<string, Assessment>()

  constructor(results: readonly BenchmarkResult[]) {
    const measured = results.filter(({ endpoint, tasks }) => endpoint !== '' && tasks !== null)
    const byModel = Map.groupBy(measured, ({ model }) => model)
    this.#runs = new Map([...byModel].map(([model, group]) => [model, group.map(toRun)]))
  }

  find(model: Pick<Model, 'canonical_slug'>, { tag }: Pick<Endpoint, 'tag'>, now: number) {
    const runs = this.#runs.get(model.canonical_slug)
    return (runs && this.#assess(model.canonical_slug, runs, now).get(tag)) ?? null
  }

  #assess(model: string, runs: readonly Run[], now: number): Assessment['byTag'] {
    const minute = Math.floor(now / minuteMs)
    const known = this.#assessments.get(model)
    if (known?.minute === minute) return known.byTag
    const byTag = assessEndpoints(runs, now)
    this.#assessments.set(model, { minute, byTag })
    return byTag
  }
}

function toRun({ benchmark, endpoint, measuredAt, score, tasks }: BenchmarkResult): Run {
  return { benchmark, endpoint, at: Date.parse(measuredAt), score, tasks: tasks ?? 0 }
}

/** Accuracies of different benchmarks are not comparable: each is compared with its own average. */
function assessEndpoints(runs: readonly Run[], now: number): Map<string, EndpointQuality> {
  const current = runs.filter(({ at }) => at > now - windowDays * dayMs && at <= now)
  const found = new Map<string, { relative: number; isDegraded: boolean }[]>()
  for (const group of Map.groupBy(current, ({ benchmark }) => benchmark).values()) {
    for (const [endpoint, quality] of compareInBenchmark(group, now))
      found.set(endpoint, [...(found.get(endpoint) ?? []), quality])
  }
  return new Map(
    [...found].map(([endpoint, all]) => [
      endpoint,
      {
        relative: mean(all.map(({ relative }) => relative)),
        isDegraded: all.some(({ isDegraded }) => isDegraded),
      },
    ]),
  )
}

function compareInBenchmark(runs: readonly Run[], now: number): [string, EndpointQuality][] {
  const baselineEnd = now - (windowDays - baselineDays) * dayMs
  const baseline = runs.filter(({ at }) => at <= baselineEnd).map(({ score }) => score)
  const endpoints = [...Map.groupBy(runs, ({ endpoint }) => endpoint)].flatMap(([endpoint, own]) => {
    const accuracy = computeAccuracy(own)
    const recent = own.filter(({ at }) => at > baselineEnd)
    return accuracy === null ? [] : [{ endpoint, accuracy, isDegraded: isBelowBaseline(recent, baseline) }]
  })
  const average = mean(endpoints.map(({ accuracy }) => accuracy))
  return endpoints.map(({ endpoint, accuracy, isDegraded }) => [
    endpoint,
    { relative: accuracy - average, isDegraded },
  ])
}

function isBelowBaseline(recent: readonly Run[], baseline: readonly number[]): boolean {
  const accuracy = computeAccuracy(recent)
  const floor = computeQualityFloor(baseline, countTasks(recent))
  return accuracy !== null && floor !== null && accuracy < floor
}

/** Null for too few tasks. */
function computeAccuracy(runs: readonly Run[]): number | null {
  if (countTasks(runs) < minTasks) return null
  return weightedMean(runs.map(({ score, tasks }) => ({ value: score, weight: tasks })))
}

function countTasks(runs: readonly Run[]): number {
  return runs.reduce((sum, { tasks }) => sum + tasks, 0)
}
