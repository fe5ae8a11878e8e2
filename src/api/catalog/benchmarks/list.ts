import {
  type BenchmarkResult,
  type BenchmarkSource,
  type IndexName,
  taskTypeOf,
} from '../../../catalog/benchmarks/result.ts'
import { parseArena } from '../../../catalog/benchmarks/snapshot.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { isoNow } from '../../../platform/time/clock.ts'
import { type ListedItem, toArenaItem, toIndexItem, toSearchItem, toServiceItem } from './items.ts'
import { type BenchmarksQuery, isSearchQuery } from './query.ts'

/** Sources of results, for attribution. */
const origins: Record<BenchmarkSource, { citation: string; url: string | null }> = {
  'artificial-analysis': {
    citation: 'Artificial Analysis (https://artificialanalysis.ai)',
    url: 'https://artificialanalysis.ai',
  },
  'design-arena': {
    citation: 'Design Arena (https://www.designarena.ai)',
    url: 'https://www.designarena.ai',
  },
  service: { citation: 'Benchmarks of this installation', url: null },
}

/** The results that match, the best of each source first. */
export function listItems({ benchmarks, catalog }: Gateway, query: BenchmarksQuery): ListedItem[] {
  const { results } = benchmarks.current
  const of = (source: BenchmarkSource) =>
    query.source === undefined || query.source === source
      ? results.filter((result) => result.source === source)
      : []
  const own = of('service')
  const search = own
    .filter((result) => matchesSearch(result, query))
    .map((result) => toSearchItem(result, query.include_run_config === true))
  if (isSearchQuery(query)) return sortItems(search)
  const index = toIndexName(query)
  const models = Map.groupBy(of('artificial-analysis'), ({ model }) => model)
  const indices = [...models.values()].flatMap((group) =>
    isNonEmpty(group) ? toIndexItem(group, catalog, index ?? 'intelligence') : [],
  )
  return [
    ...sortItems(index === null ? indices : indices.filter(({ rank }) => rank >= 0)),
    ...sortItems(
      of('design-arena')
        .filter((result) => matchesArena(result, query))
        .map((result) => toArenaItem(result, catalog)),
    ),
    ...sortItems(own.filter((result) => matchesBenchmark(result, query)).map(toServiceItem)),
    ...(query.task_type === undefined && query.benchmark_type === undefined ? sortItems(search) : []),
  ]
}

function isNonEmpty<T>(list: readonly T[]): list is readonly [T, ...T[]] {
  return list.length > 0
}

function sortItems(items: ListedItem[]): ListedItem[] {
  return items.sort((a, b) => b.rank - a.rank || (a.item.model_permaslug < b.item.model_permaslug ? -1 : 1))
}

function toIndexName({ task_type: taskType }: BenchmarksQuery): IndexName | null {
  return taskType === undefined || taskType === 'search' ? null : taskType
}

function matchesSearch(result: BenchmarkResult, query: BenchmarksQuery): boolean {
  const { benchmark_type = result.benchmark, search_engine, search_surface } = query
  return (
    taskTypeOf(result) === 'search' &&
    result.benchmark === benchmark_type &&
    (search_engine === undefined || result.details.search_engine === search_engine) &&
    (search_surface === undefined || result.details.search_surface === search_surface)
  )
}

/** A benchmark other than of search. */
function matchesBenchmark(result: BenchmarkResult, query: BenchmarksQuery): boolean {
  const taskType = taskTypeOf(result)
  const { task_type = taskType, benchmark_type = result.benchmark } = query
  return taskType !== 'search' && taskType === task_type && result.benchmark === benchmark_type
}

/** The category over all code, and the arena of agents, are what fits a task type. */
const overallCodeCategory = 'codecategories'

function matchesArena(result: BenchmarkResult, query: BenchmarksQuery): boolean {
  const { arena, category } = parseArena(result)
  const { source, task_type: taskType } = query
  const defaultArena = source === 'design-arena' ? (taskType === 'agentic' ? 'agents' : 'models') : arena
  if (arena !== (query.arena ?? defaultArena)) return false
  if (query.category !== undefined && category !== query.category) return false
  if (taskType === undefined) return true
  return taskType === 'agentic'
    ? arena === 'agents'
    : taskType === 'coding' && category === overallCodeCategory
}

export function buildMeta(gateway: Gateway, query: BenchmarksQuery, items: readonly ListedItem[]) {
  const sources = new Set(items.map(({ item }) => item.source))
  const [single = query.source] = sources
  const origin = sources.size <= 1 && single !== undefined ? origins[single] : null
  const urls = new Set(items.flatMap(({ results }) => results.map(({ sourceUrl }) => sourceUrl)))
  const [url] = urls
  return {
    as_of: findNewest(items) ?? isoNow(gateway.clock),
    citation: origin?.citation ?? null,
    model_count: new Set(items.map(({ item }) => item.model_permaslug)).size,
    source: query.source ?? null,
    source_url: origin && ((urls.size === 1 ? url : null) ?? origin.url),
    task_type: query.task_type ?? null,
    version: 'v1' as const,
  }
}

function findNewest(items: readonly ListedItem[]): string | undefined {
  const times = items.flatMap(({ results }) => results.map(({ measuredAt }) => measuredAt))
  return times.sort().at(-1)
}
