import type { Selectable } from 'kysely'
import type { BenchmarkResultTable } from '../../platform/db/schema.ts'

export const benchmarkSources = ['artificial-analysis', 'design-arena', 'service'] as const
export type BenchmarkSource = (typeof benchmarkSources)[number]

export const taskTypes = ['coding', 'intelligence', 'agentic', 'search'] as const
export type TaskType = (typeof taskTypes)[number]

/** Benchmarks that are known by name, and what they measure. */
export const knownBenchmarks = {
  gpqa_diamond: 'intelligence',
  tau_bench_verified_airline: 'agentic',
  search_browsecomp: 'search',
  search_hle: 'search',
  search_dsqa: 'search',
  search_widesearch: 'search',
} as const satisfies Record<string, TaskType>

/** The composite scores of Artificial Analysis; each is a benchmark of its own. */
export const indexNames = ['intelligence', 'coding', 'agentic'] as const
export type IndexName = (typeof indexNames)[number]

export interface TournamentStats {
  first_place: number | null
  second_place: number | null
  third_place: number | null
  fourth_place: number | null
  total: number | null
}

export interface RunConfig {
  max_agent_turns: number | null
  reasoning_effort: string | null
  temperature: number | null
}

/** Details that only some sources publish. */
export interface ResultDetails {
  win_rate?: number
  tournament_stats?: TournamentStats
  /** The type of a benchmark that is not among the known ones. */
  task_type?: TaskType
  primary_metric?: 'accuracy' | 'f1_by_item'
  search_engine?: string
  search_surface?: 'server-tool' | 'plugin'
  run_config?: RunConfig
}

/** The score of a model in a benchmark. */
export interface BenchmarkResult {
  source: BenchmarkSource
  /** The name of an index, `arena/category`, or the name of a benchmark. */
  benchmark: string
  /** The canonical slug. */
  model: string
  /** The tag of the endpoint that was measured; empty: the model as it is routed by default. */
  endpoint: string
  /** Distinguishes configurations of the same benchmark; empty: there is only one. */
  variant: string
  /** Each run counts; empty: a published score, which a newer one replaces. */
  runId: string
  displayName: string
  /** An index from 0 to 100, an Elo rating, or a share from 0 to 1. */
  score: number
  deviation: number | null
  /** The average per task. */
  costNanos: bigint | null
  latencyMs: number | null
  tasks: number | null
  measuredAt: string
  details: ResultDetails
  sourceUrl: string | null
  importedAt: string
}

export type ResultRow = Selectable<BenchmarkResultTable>

/** Identifies a result. */
export type ResultKey = Pick<
  BenchmarkResult,
  'source' | 'benchmark' | 'model' | 'endpoint' | 'variant' | 'runId'
>

export function formatResultKey({ source, benchmark, model, endpoint, variant, runId }: ResultKey): string {
  return JSON.stringify([source, benchmark, model, endpoint, variant, runId])
}

export function toRow(result: BenchmarkResult): ResultRow {
  return {
    source: result.source,
    benchmark: result.benchmark,
    model: result.model,
    endpoint: result.endpoint,
    variant: result.variant,
    run_id: result.runId,
    display_name: result.displayName,
    score: result.score,
    deviation: result.deviation,
    cost_nanos: result.costNanos,
    latency_ms: result.latencyMs,
    tasks: result.tasks,
    measured_at: result.measuredAt,
    details: JSON.stringify(result.details),
    source_url: result.sourceUrl,
    imported_at: result.importedAt,
  }
}

export function fromRow(row: ResultRow): BenchmarkResult {
  return {
    source: row.source,
    benchmark: row.benchmark,
    model: row.model,
    endpoint: row.endpoint,
    variant: row.variant,
    runId: row.run_id,
    displayName: row.display_name,
    score: row.score,
    deviation: row.deviation,
    costNanos: row.cost_nanos,
    latencyMs: row.latency_ms,
    tasks: row.tasks,
    measuredAt: row.measured_at,
    details: JSON.parse(row.details) as ResultDetails,
    sourceUrl: row.source_url,
    importedAt: row.imported_at,
  }
}

/** The type of tasks of a benchmark of this installation. */
export function taskTypeOf({ benchmark, details }: Pick<BenchmarkResult, 'benchmark' | 'details'>): TaskType {
  return findKnownTaskType(benchmark) ?? details.task_type ?? 'intelligence'
}

export function findKnownTaskType(benchmark: string): TaskType | undefined {
  return Object.entries(knownBenchmarks).find(([name]) => name === benchmark)?.[1]
}
