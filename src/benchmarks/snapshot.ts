import type { Model } from '../catalogue/model.ts'
import type { ModelBenchmarks } from '../catalogue/model-record.ts'
import { combineRuns } from './combine-runs.ts'
import { EndpointQualities } from './endpoint-quality.ts'
import { type BenchmarkResult, type IndexName, indexNames, taskTypeOf } from './result.ts'
import { weightedMean } from './statistics.ts'
import type { StoredResults } from './store.ts'

type NamedModel = Pick<Model, 'canonical_slug'>

/** From 0 to 1, where 1 is best; null: not measured. */
export interface ModelScores {
  intelligence: number | null
  coding: number | null
  agentic: number | null
  /** The accuracy in benchmarks of tool use that were run by this installation. */
  toolCalling: number | null
}

const unknownScores: ModelScores = { intelligence: null, coding: null, agentic: null, toolCalling: null }

/** All results in memory, indexed for requests. Immutable: a change builds a new one. */
export class BenchmarkSnapshot {
  readonly version: number
  /** Runs are combined; results of single endpoints are not included. */
  readonly results: readonly BenchmarkResult[]
  readonly endpointQualities: EndpointQualities
  readonly #benchmarks: ReadonlyMap<string, ModelBenchmarks>
  readonly #scores: ReadonlyMap<string, ModelScores>

  constructor({ version, results }: StoredResults) {
    const combined = combineRuns(results.filter(({ endpoint }) => endpoint === ''))
    this.version = version
    this.results = combined
    this.endpointQualities = new EndpointQualities(results)
    this.#benchmarks = indexBenchmarks(combined)
    this.#scores = indexScores(combined)
  }

  /** For routing: how good a model is. */
  scoresOf({ canonical_slug }: NamedModel): ModelScores {
    return this.#scores.get(canonical_slug) ?? unknownScores
  }

  /** As a model's record shows them; undefined if there are none. */
  findModelBenchmarks = ({ canonical_slug }: NamedModel): ModelBenchmarks | undefined =>
    this.#benchmarks.get(canonical_slug)
}

function indexBenchmarks(results: readonly BenchmarkResult[]): Map<string, ModelBenchmarks> {
  const ranks = rankByElo(results)
  const published = results.filter(({ source }) => source !== 'service')
  return new Map(
    [...Map.groupBy(published, ({ model }) => model)].map(([model, group]) => {
      const indices = group.filter(({ source }) => source === 'artificial-analysis')
      const arenas = group.filter(({ source }) => source === 'design-arena')
      return [
        model,
        {
          ...(indices.length > 0 && { artificial_analysis: toIndices(indices) }),
          design_arena: arenas.map((result) => toArenaEntry(result, ranks)).sort((a, b) => a.rank - b.rank),
        },
      ]
    }),
  )
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
function rankByElo(results: readonly BenchmarkResult[]): Map<BenchmarkResult, number> {
  const arenas = results.filter(({ source }) => source === 'design-arena')
  const ranks = new Map<BenchmarkResult, number>()
  for (const group of Map.groupBy(arenas, ({ benchmark }) => benchmark).values()) {
    const sorted = group.toSorted((a, b) => b.score - a.score)
    let rank = 0
    sorted.forEach((result, index) => {
      if (result.score !== sorted[index - 1]?.score) rank = index + 1
      ranks.set(result, rank)
    })
  }
  return ranks
}

/**
 * An index becomes a percentile among the measured models of this installation. A model without it has the accuracy
 * in this installation's own benchmarks of that type.
 */
function indexScores(results: readonly BenchmarkResult[]): Map<string, ModelScores> {
  const percentiles = Object.fromEntries(indexNames.map((name) => [name, computePercentiles(results, name)]))
  return new Map(
    [...Map.groupBy(results, ({ model }) => model)].map(([model, group]) => {
      const scoreOf = (name: IndexName) => percentiles[name]?.get(model) ?? computeOwnAccuracy(group, name)
      return [
        model,
        {
          intelligence: scoreOf('intelligence'),
          coding: scoreOf('coding'),
          agentic: scoreOf('agentic'),
          toolCalling: computeOwnAccuracy(group, 'agentic'),
        },
      ]
    }),
  )
}

/** The share of the other models that score lower; a single model has 1. */
function computePercentiles(results: readonly BenchmarkResult[], name: IndexName): Map<string, number> {
  const scored = results.filter(
    ({ source, benchmark }) => source === 'artificial-analysis' && benchmark === name,
  )
  const sorted = scored.map(({ score }) => score).sort((a, b) => a - b)
  const lower = new Map<number, number>()
  for (const [index, score] of sorted.entries()) if (!lower.has(score)) lower.set(score, index)
  return new Map(
    scored.map(({ model, score }) => [
      model,
      sorted.length > 1 ? (lower.get(score) ?? 0) / (sorted.length - 1) : 1,
    ]),
  )
}

function computeOwnAccuracy(results: readonly BenchmarkResult[], name: IndexName): number | null {
  const own = results.filter((result) => result.source === 'service' && taskTypeOf(result) === name)
  return weightedMean(own.map(({ score, tasks }) => ({ value: score, weight: tasks })))
}
