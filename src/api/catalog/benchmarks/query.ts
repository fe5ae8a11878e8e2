import { z } from 'zod'
import {
  benchmarkSources,
  findKnownTaskType,
  knownBenchmarks,
  taskTypeOf,
  taskTypes,
} from '../../../catalog/benchmarks/result.ts'
import type { BenchmarkSnapshot } from '../../../catalog/benchmarks/snapshot.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'

const name = z.string().min(1).max(100).optional()

export const benchmarksQuery = z.object({
  source: z.enum(benchmarkSources).optional().describe('Without it, the results of all sources.'),
  task_type: z
    .enum(taskTypes)
    .optional()
    .describe(
      'An index of Artificial Analysis; in Design Arena, the code categories or the arena of agents; the type of a benchmark of this installation. `search` returns search benchmarks only.',
    ),
  benchmark_type: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      `One benchmark: ${Object.keys(knownBenchmarks).join(', ')}, or one that was run here. A search benchmark returns its results only; any other narrows the results of \`service\` and leaves those of other sources.`,
    ),
  include_run_config: queryBoolean()
    .optional()
    .describe('Whether search results have the configuration of their runs.'),
  search_engine: name.describe('Returns search results with this engine only.'),
  search_surface: z.enum(['server-tool', 'plugin']).optional(),
  arena: z
    .enum(['models', 'builders', 'agents'])
    .optional()
    .describe(
      'Narrows the results of Design Arena. With `source=design-arena` it is `models` by default, with `task_type=agentic` `agents`.',
    ),
  category: name.describe('Narrows the results of Design Arena.'),
  max_results: z
    .string()
    .regex(/^[1-9]\d{0,14}$/, 'must be an integer of at least 1')
    .transform(Number)
    .optional()
    .meta({ override: { type: 'integer', minimum: 1, maximum: 999_999_999_999_999 } }),
})

export type BenchmarksQuery = z.output<typeof benchmarksQuery>

/** Whether the query is for search results alone. */
export function isSearchQuery(query: BenchmarksQuery): boolean {
  const { task_type, benchmark_type = '', search_engine, search_surface } = query
  return (
    task_type === 'search' ||
    findKnownTaskType(benchmark_type) === 'search' ||
    search_engine !== undefined ||
    search_surface !== undefined
  )
}

/** A parameter that could have no effect, given the others, is an error. */
export function assertConsistent(query: BenchmarksQuery, { results }: BenchmarkSnapshot): void {
  const { source, task_type: taskType, benchmark_type: benchmark } = query
  const isOtherSource = source !== undefined && source !== 'service'
  const own = results.find((result) => result.source === 'service' && result.benchmark === benchmark)
  const benchmarkTask =
    benchmark === undefined ? undefined : (findKnownTaskType(benchmark) ?? (own && taskTypeOf(own)))
  if (benchmark !== undefined && benchmarkTask === undefined) {
    const names = Object.keys(knownBenchmarks).join(', ')
    throw invalidFieldError('benchmark_type', `must be one of ${names}, or a benchmark that was run here`)
  }
  if (isOtherSource && taskType === 'search')
    throw invalidFieldError('task_type', 'can be search only for the source service')
  for (const field of ['benchmark_type', 'search_engine', 'search_surface', 'include_run_config'] as const) {
    if (isOtherSource && query[field]) throw invalidFieldError(field, 'applies to the source service only')
  }
  if (benchmarkTask !== undefined && taskType !== undefined && taskType !== benchmarkTask)
    throw invalidFieldError(
      'benchmark_type',
      `is a benchmark of the task type ${benchmarkTask}, not ${taskType}`,
    )
  assertSearchFields(query, taskType ?? benchmarkTask)
  assertArenaFields(query)
}

function assertSearchFields(query: BenchmarksQuery, taskType: string | undefined): void {
  if (taskType === undefined || taskType === 'search') return
  for (const field of ['search_engine', 'search_surface', 'include_run_config'] as const) {
    if (query[field]) throw invalidFieldError(field, 'applies to search benchmarks only')
  }
}

function assertArenaFields(query: BenchmarksQuery): void {
  const { source } = query
  const isExcluded = (source !== undefined && source !== 'design-arena') || isSearchQuery(query)
  for (const field of ['arena', 'category'] as const) {
    if (isExcluded && query[field] !== undefined)
      throw invalidFieldError(field, 'applies to the source design-arena only')
  }
}
