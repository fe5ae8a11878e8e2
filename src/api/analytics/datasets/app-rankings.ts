import { z } from 'zod'
import {
  type AppCategory,
  type AppSubcategory,
  appCategories,
  appCategoryNames,
  appCategoryOf,
  appSubcategories,
} from '../../../analytics/datasets/app-categories.ts'
import { readFigures } from '../../../analytics/datasets/figures.ts'
import { readRecent } from '../../../analytics/stores.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { queryInteger } from '../../../platform/validation/query-params.ts'
import { countDays, type Period, periodQuery, resolvePeriod, shiftDay } from './period.ts'
import { findApps } from './store.ts'

export const appRankingsQuery = z.object({
  category: z.enum(appCategoryNames).optional(),
  subcategory: z.enum(appSubcategories).optional(),
  sort: z
    .enum(['popular', 'trending'])
    .default('popular')
    .describe(
      '`trending` sorts by the growth over the mean of the three preceding periods of the same length.',
    ),
  ...periodQuery,
  limit: queryInteger({ min: 1, max: 100, fallback: 50 }),
  offset: queryInteger({ min: 0, max: 100, fallback: 0 }),
})

export const appRankingsItem = z
  .strictObject({
    app_id: z.int(),
    app_name: z.string(),
    rank: z.int().describe('From 1 on, whatever the offset.'),
    total_requests: z.int(),
    total_tokens: z.string().describe('Prompt and completion tokens, as a decimal number.'),
  })
  .meta({ id: 'AppRankingsItem' })

type AppRankingsQuery = z.output<typeof appRankingsQuery>

interface AppVolume {
  url: string
  requests: number
  tokens: number
  /** Decides the rank; apps without any are not ranked. */
  score: number
}

/** The preceding periods that growth is measured against. */
const comparedPeriods = 3

export async function rankApps(
  gateway: Gateway,
  query: AppRankingsQuery,
  minOrganizations: number,
): Promise<{ data: z.input<typeof appRankingsItem>[]; period: Period }> {
  assertMatchingCategory(query)
  const period = resolvePeriod(gateway.clock.now(), query)
  const volumes = await readRecent(gateway, (db) =>
    readVolumes({ db, settings: gateway.settings }, query, period, minOrganizations),
  )
  const ranked = volumes.filter(({ score }) => score > 0).sort(compareVolumes)
  const shown = ranked.slice(query.offset, query.offset + query.limit)
  const apps = await findApps(
    gateway.db,
    shown.map(({ url }) => url),
  )
  const data = shown.map(({ url, requests, tokens }, index) => ({
    app_id: apps.get(url)?.id ?? 0,
    app_name: resolveAppName(gateway, url, apps.get(url)?.title ?? null),
    rank: query.offset + index + 1,
    total_requests: requests,
    total_tokens: String(tokens),
  }))
  return { data, period }
}

function compareVolumes(a: AppVolume, b: AppVolume): number {
  return b.score - a.score || b.tokens - a.tokens || (a.url < b.url ? -1 : 1)
}

function assertMatchingCategory({ category, subcategory }: AppRankingsQuery): void {
  if (!category || !subcategory || appCategoryOf(subcategory) === category) return
  throw invalidFieldError('subcategory', `must be one of ${category}: ${appCategories[category].join(', ')}`)
}

/** The name in the settings, or the latest title, or the address. */
export function resolveAppName({ settings }: Gateway, url: string, title: string | null): string {
  return settings.datasets.apps.find((app) => app.url === url)?.name ?? title ?? url
}

async function readVolumes(
  { db, settings }: Pick<Gateway, 'db' | 'settings'>,
  query: AppRankingsQuery,
  period: Period,
  minOrganizations: number,
): Promise<AppVolume[]> {
  const isTrending = query.sort === 'trending'
  const from = isTrending ? shiftDay(period.from, -comparedPeriods * countDays(period)) : period.from
  const isSelected = createAppFilter(settings, query)
  const volumes = new Map<string, AppVolume>()
  await readFigures(db, { kind: 'app', from, to: period.to, minOrganizations }, (figure) => {
    const { subject: url, day, requests, tokens } = figure
    if (!isSelected(url)) return
    const volume = volumes.get(url) ?? { url, requests: 0, tokens: 0, score: 0 }
    volumes.set(url, volume)
    if (day < period.from) volume.score -= tokens / comparedPeriods
    else addVolume(volume, requests, tokens)
  })
  return [...volumes.values()]
}

function addVolume(volume: AppVolume, requests: number, tokens: number): void {
  volume.requests += requests
  volume.tokens += tokens
  volume.score += tokens
}

/** Categories are assigned by the operator. */
function createAppFilter(
  settings: Gateway['settings'],
  { category, subcategory }: { category?: AppCategory | undefined; subcategory?: AppSubcategory | undefined },
): (url: string) => boolean {
  if (!category && !subcategory) return () => true
  const apps = settings.datasets.apps.filter((app) => {
    if (!app.subcategory) return false
    return subcategory ? app.subcategory === subcategory : appCategoryOf(app.subcategory) === category
  })
  const urls = new Set(apps.map(({ url }) => url))
  return (url) => urls.has(url)
}
