import { z } from 'zod'
import type { TournamentStats } from '../result.ts'
import { ImportError, type PublishedModel, type PublishedScore } from './entry.ts'

const count = z.number().int().min(0).nullish()

const ranking = z.looseObject({
  elo: z.number().min(0).max(10_000),
  winRate: z.number().min(0).max(100),
  avgGenerationTimeMs: z.number().min(0).nullish(),
  tournamentStats: z
    .looseObject({
      firstPlace: count,
      secondPlace: count,
      thirdPlace: count,
      fourthPlace: count,
      total: count,
    })
    .nullish(),
})

const identity = z.looseObject({
  id: z.string().nullish(),
  modelId: z.string().nullish(),
  displayName: z.string().nullish(),
  provider: z.string().nullish(),
  openRouterId: z.string().nullish(),
})

const leaderboardEntry = identity.extend({
  ...ranking.shape,
  arena: z.string().nullish(),
  category: z.string().nullish(),
})
const modelEntry = identity.extend({ rankings: z.record(z.string(), z.record(z.string(), ranking)) })

/** A leaderboard, or the list of all models with their rankings, of the API of Design Arena. */
export const designArenaFile = z.object({
  data: z.array(z.union([modelEntry, leaderboardEntry])),
  meta: z
    .looseObject({
      arena: z.string().nullish(),
      category: z.string().nullish(),
      lastUpdated: z.string().nullish(),
    })
    .nullish(),
})

/** The arena and category of a leaderboard that does not name them. */
export interface ArenaOptions {
  arena?: string
  category?: string
}

export function readDesignArena(
  { data, meta }: z.output<typeof designArenaFile>,
  options: ArenaOptions,
): PublishedScore[] {
  const time = Date.parse(meta?.lastUpdated ?? '')
  const measuredAt = Number.isNaN(time) ? null : new Date(time).toISOString()
  return data.flatMap((entry): PublishedScore[] => {
    if (isModelEntry(entry)) return readModelEntry(entry, measuredAt)
    const row = leaderboardEntry.parse(entry)
    const arena = row.arena ?? meta?.arena ?? options.arena
    const category = row.category ?? meta?.category ?? options.category
    if (!arena || !category)
      throw new ImportError('The file does not name its leaderboard. Set --arena and --category.')
    return [toScore(row, row, arena, category, measuredAt)]
  })
}

function isModelEntry(entry: object): entry is z.output<typeof modelEntry> {
  return 'rankings' in entry
}

function readModelEntry(entry: z.output<typeof modelEntry>, measuredAt: string | null): PublishedScore[] {
  return Object.entries(entry.rankings).flatMap(([arena, categories]) =>
    Object.entries(categories).map(([category, one]) => toScore(entry, one, arena, category, measuredAt)),
  )
}

function toScore(
  model: z.output<typeof identity>,
  { elo, winRate, avgGenerationTimeMs, tournamentStats }: z.output<typeof ranking>,
  arena: string,
  category: string,
  measuredAt: string | null,
): PublishedScore {
  return {
    source: 'design-arena',
    benchmark: formatArena(arena, category),
    variant: '',
    score: elo,
    latencyMs: avgGenerationTimeMs ?? null,
    details: {
      win_rate: winRate,
      ...(tournamentStats && { tournament_stats: toTournamentStats(tournamentStats) }),
    },
    model: toPublishedModel(model),
    measuredAt,
  }
}

function toTournamentStats(stats: NonNullable<z.output<typeof ranking>['tournamentStats']>): TournamentStats {
  return {
    first_place: stats.firstPlace ?? null,
    second_place: stats.secondPlace ?? null,
    third_place: stats.thirdPlace ?? null,
    fourth_place: stats.fourthPlace ?? null,
    total: stats.total ?? null,
  }
}

/** `Models Arena`, `Code Categories`: `models/codecategories`. */
export function formatArena(arena: string, category: string): string {
  const simplify = (text: string) => text.toLowerCase().replaceAll(/[\s/]+/g, '')
  return `${simplify(arena).replace(/(?<=.)arena$/, '')}/${simplify(category)}`
}

function toPublishedModel({
  id,
  modelId,
  displayName,
  provider,
  openRouterId,
}: z.output<typeof identity>): PublishedModel {
  const names = [openRouterId, id, modelId].flatMap((name) => name || [])
  const shown = displayName || names[0]
  if (!shown) throw new ImportError('An entry has neither displayName nor id.')
  return { displayName: shown, names, author: provider ?? null }
}
