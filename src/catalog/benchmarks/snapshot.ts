import type { Model } from '../model.ts'
import type { ModelBenchmarks } from '../model-record.ts'
import { combineRuns } from './combine-runs.ts'
import { EndpointQualities } from './endpoint-quality.ts'
import { type BenchmarkResult, type IndexName, taskTypeOf } from './result.ts'
import { minTasks, weightedMean } from './statistics.ts'
import type { StoredResults } from './store.ts'

type NamedModel = Pick<Model, 'canonical_slug'>

/** Scores from 0 to 1, where 1 is best; null: not measured. */
export interface ModelScores {
  intelligence: number | null
  coding: number | null
  agentic: number | null
  /** The accuracy in benchmarks of tool use that were run by this installation. */
  toolCalling: number | null
}

const unknownScores: ModelScores = { intelligence: null, coding: null, agentic: null, toolCalling: null }

interface SnapshotParts {
  version: number
  results: readonly BenchmarkResult[]
  endpointQualities: EndpointQualities
  benchmarks: ReadonlyMap<string, ModelBenchmarks>
  scores: ReadonlyMap<string, ModelScores>
}

/** All results in memory, indexed for requests. Immutable: a change builds a new one. */
export class BenchmarkSnapshot {
  readonly version: number
  /** Runs are combined; results of single endpoints are not included. */
  readonly results: readonly BenchmarkResult[]
  readonly endpointQualities: EndpointQualities
  readonly #benchmarks: ReadonlyMap<string, ModelBenchmarks>
  readonly #scores: ReadonlyMap<string, ModelScores>

  private constructor({ version, results, endpointQualities, benchmarks, scores }: SnapshotParts) {
    this.version = version
    this.results = results
    this.endpointQualities = endpointQualities
    this.#benchmarks = benchmarks
    this.#scores = scores
  }

  /** Builds in short steps: there may be tens of thousands of results. */
  static *build({ version, results }: StoredResults): Generator<void, BenchmarkSnapshot> {
    const byModel = new Map<string, BenchmarkResult[]>()
    for (const [model, group] of groupOfModels(results)) {
      byModel.set(model, combineRuns(group))
      yield
    }
    const combined = [...byModel.values()].flat()
    const ranks = yield* rankByElo(combined)
    const percentiles = yield* computePercentiles(combined)
    const benchmarks = new Map<string, ModelBenchmarks>()
    const scores = new Map<string, ModelScores>()
    for (const [model, group] of byModel) {
      const shown = toModelBenchmarks(group, ranks)
      if (shown) benchmarks.set(model, shown)
      scores.set(model, toModelScores(group, percentiles))
      yield
    }
    const endpointQualities = new EndpointQualities(results)
    return new BenchmarkSnapshot({ version, results: combined, endpointQualities, benchmarks, scores })
  }

  /** The quality of a model, for routing. */
  scoresOf({ canonical_slug }: NamedModel): ModelScores {
    return this.#scores.get(canonical_slug) ?? unknownScores
  }

  /** The benchmarks in a model's record; undefined if there are none. */
  findModelBenchmarks = ({ canonical_slug }: NamedModel): ModelBenchmarks | undefined =>
    this.#benchmarks.get(canonical_slug)
}

function groupOfModels(results: readonly BenchmarkResult[]): Map<string, BenchmarkResult[]> {
  return Map.groupBy(
    results.filter(({ endpoint }) => endpoint === ''),
    ({ model }) => model,
  )
}

/** Undefined for a model that was measured by this installation only. */
function toModelBenchmarks(
  results: readonly BenchmarkResult[],
  ranks: ReadonlyMap<BenchmarkResult, number>,
): ModelBenchmarks | undefined {
  const indices = results.filter(({ source }) => source === 'artificial-analysis')
  const arenas = results.filter(({ source }) => source === 'design-arena')
  if (indices.length + arenas.length === 0) return undefined
  return {
    ...(indices.length > 0 && { artificial_analysis: toIndices(indices) }),
    design_arena: arenas.map((result) => toArenaEntry(result, ranks)).sort((a, b) => a.rank - b.rank),
  }
}

export function toIndices(results: readonly BenchmarkResult[]) {
  const scoreOf = (name: IndexName) => results.find(({ benchmark }) => benchmark === name)?.score ?? null
  return {
    agentic_index: scoreOf('agentic'),
    coding_index: scoreOf('coding'),
    intelligence_index: scoreOf('intelligence'),
  }
}

function toArenaEntry(result: BenchmarkResult, ranks: ReadonlyMap<BenchmarkResult, number>) {
  return {
    ...parseArena(result),
    elo: result.score,
    rank: ranks.get(result) ?? 1,
    win_rate: result.details.win_rate ?? 0,
  }
}

export function parseArena({ benchmark }: BenchmarkResult): { arena: string; category: string } {
  const [arena = '', category = ''] = benchmark.split('/')
  return { arena, category }
}

/** Among the models of this installation in the same category; 1 is the highest rating. */
function* rankByElo(results: readonly BenchmarkResult[]): Generator<void, Map<BenchmarkResult, number>> {
  const arenas = results.filter(({ source }) => source === 'design-arena')
  const ranks = new Map<BenchmarkResult, number>()
  for (const group of Map.groupBy(arenas, ({ benchmark }) => benchmark).values()) {
    const sorted = group.toSorted((a, b) => b.score - a.score)
    let rank = 0
    sorted.forEach((result, index) => {
      if (result.score !== sorted[index - 1]?.score) rank = index + 1
      ranks.set(result, rank)
    })
    yield
  }
  return ranks
}

/** Results of Artificial Analysis, with the share of the other models that score lower; a single model has 1. */
type Percentiles = ReadonlyMap<BenchmarkResult, number>

function* computePercentiles(results: readonly BenchmarkResult[]): Generator<void, Percentiles> {
  const percentiles = new Map<BenchmarkResult, number>()
  const published = results.filter(({ source }) => source === 'artificial-analysis')
  for (const scored of Map.groupBy(published, ({ benchmark }) => benchmark).values()) {
    const sorted = scored.map(({ score }) => score).sort((a, b) => a - b)
    const lower = new Map<number, number>()
    for (const [index, score] of sorted.entries()) if (!lower.has(score)) lower.set(score, index)
    for (const result of scored)
      percentiles.set(result, sorted.length > 1 ? (lower.get(result.score) ?? 0) / (sorted.length - 1) : 1)
    yield
  }
  return percentiles
}

/** A model without an index has the accuracy in this installation's own benchmarks of that type, if they have enough tasks. */
function toModelScores(results: readonly BenchmarkResult[], percentiles: Percentiles): ModelScores {
  const scoreOf = (name: IndexName) => {
    const index = results.find(
      ({ source, benchmark }) => source === 'artificial-analysis' && benchmark === name,
    )
    return (index && percentiles.get(index)) ?? computeOwnAccuracy(results, name)
  }
  return {
    intelligence: scoreOf('intelligence'),
    coding: scoreOf('coding'),
    agentic: scoreOf('agentic'),
    toolCalling: computeOwnAccuracy(results, 'agentic'),
  }
}

function computeOwnAccuracy(results: readonly BenchmarkResult[], name: IndexName): number | null {
  const own = results.filter((result) => result.source === 'service' && taskTypeOf(result) === name)
  if (own.reduce((sum, { tasks }) => sum + (tasks ?? 0), 0) < minTasks) return null
  return weightedMean(own.map(({ score, tasks }) => ({ value: score, weight: tasks })))
}

/** The snapshot of a process that has not loaded any yet. */
export const emptySnapshot = buildEmptySnapshot()

function buildEmptySnapshot(): BenchmarkSnapshot {
  const { value, done } = BenchmarkSnapshot.build({ version: 0, results: [] }).next()
  if (!done) throw new Error('a snapshot of no results is built in one step')
  return value
}
