import { z } from 'zod'
import { indexNames } from '../result.ts'
import { formatArena } from './design-arena.ts'
import type { PublishedModel, PublishedScore } from './entry.ts'

const identity = { display_name: z.string().min(1), model_permaslug: z.string().min(1) }
const index = z.number().min(0).max(1000).nullable()
const count = z.number().int().min(0).nullable()
const share = z.number().min(0).max(1)
const amount = z.number().min(0).max(1_000_000).nullable()

const indexItem = z.looseObject({
  ...identity,
  intelligence_index: index,
  coding_index: index,
  agentic_index: index,
})

const arenaItem = z.looseObject({
  ...identity,
  arena: z.string().min(1),
  category: z.string().min(1),
  elo: z.number().min(0).max(10_000),
  win_rate: z.number().min(0).max(100),
  avg_generation_time_ms: z.number().min(0).nullish(),
  tournament_stats: z
    .object({
      first_place: count,
      second_place: count,
      third_place: count,
      fourth_place: count,
      total: count,
    })
    .nullish(),
})

const runFields = {
  ...identity,
  benchmark_type: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  avg_cost_per_task: amount.optional(),
  last_run_timestamp: z.string().refine((text) => !Number.isNaN(Date.parse(text)), 'must be a time'),
  total_tasks: z.number().int().min(0),
}

const runItem = z.looseObject(runFields)

const serviceItem = z.looseObject({
  ...runFields,
  accuracy: share,
  accuracy_stddev: z.number().min(0).nullish(),
})

const searchItem = z.looseObject({
  ...runFields,
  avg_latency_per_task_ms: z.number().min(0).nullish(),
  primary_metric: z.enum(['accuracy', 'f1_by_item']),
  primary_score: share,
  run_config: z
    .object({
      max_agent_turns: count,
      reasoning_effort: z.string().nullable(),
      temperature: z.number().nullable(),
    })
    .optional(),
  search_engine: z.string().min(1),
  search_surface: z.enum(['server-tool', 'plugin']),
})

/** A response of `GET /benchmarks`, of this gateway or of a service with the same API. */
export const unifiedFile = z.object({
  data: z.array(z.union([indexItem, arenaItem, serviceItem, searchItem])),
  meta: z.looseObject({ as_of: z.string().nullish() }).nullish(),
})

/** The fields tell the kind of an item: every service has a name of its own for its own benchmarks. */
export function readUnified({ data, meta }: z.output<typeof unifiedFile>): PublishedScore[] {
  const time = Date.parse(meta?.as_of ?? '')
  const measuredAt = Number.isNaN(time) ? null : new Date(time).toISOString()
  return data.flatMap((item): PublishedScore[] => {
    const asIndices = indexItem.safeParse(item)
    if (asIndices.success) return readIndices(asIndices.data, measuredAt)
    const asArena = arenaItem.safeParse(item)
    if (asArena.success) return [readArena(asArena.data, measuredAt)]
    const asService = serviceItem.safeParse(item)
    return [asService.success ? readService(asService.data) : readSearch(searchItem.parse(item))]
  })
}

function readIndices(item: z.output<typeof indexItem>, measuredAt: string | null): PublishedScore[] {
  return indexNames.flatMap((benchmark) => {
    const score = item[`${benchmark}_index`]
    if (score === null) return []
    return {
      ...{ source: 'artificial-analysis', benchmark, variant: '', score, details: {} },
      model: toModel(item),
      measuredAt,
    }
  })
}

function readArena(item: z.output<typeof arenaItem>, measuredAt: string | null): PublishedScore {
  return {
    source: 'design-arena',
    benchmark: formatArena(item.arena, item.category),
    variant: '',
    score: item.elo,
    latencyMs: item.avg_generation_time_ms ?? null,
    details: {
      win_rate: item.win_rate,
      ...(item.tournament_stats && { tournament_stats: item.tournament_stats }),
    },
    model: toModel(item),
    measuredAt,
  }
}

function readService(item: z.output<typeof serviceItem>): PublishedScore {
  return { ...readRun(item), score: item.accuracy, deviation: item.accuracy_stddev ?? null, details: {} }
}

function readSearch(item: z.output<typeof searchItem>): PublishedScore {
  const { search_engine, search_surface, primary_metric, run_config } = item
  return {
    ...readRun(item),
    variant: `${search_engine} ${search_surface}`,
    score: item.primary_score,
    latencyMs: item.avg_latency_per_task_ms ?? null,
    details: { primary_metric, search_engine, search_surface, ...(run_config && { run_config }) },
  }
}

function readRun(item: z.output<typeof runItem>) {
  const cost = item.avg_cost_per_task ?? null
  return {
    source: 'service' as const,
    benchmark: item.benchmark_type,
    variant: '',
    costNanos: cost === null ? null : BigInt(Math.round(cost * 1e9)),
    tasks: item.total_tasks,
    model: toModel(item),
    measuredAt: new Date(item.last_run_timestamp).toISOString(),
  }
}

function toModel({
  display_name,
  model_permaslug,
}: {
  display_name: string
  model_permaslug: string
}): PublishedModel {
  return {
    displayName: display_name,
    names: [model_permaslug],
    author: model_permaslug.split('/')[0] ?? null,
  }
}
