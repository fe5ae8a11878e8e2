import { z } from 'zod'
import { contextBuckets, modalities } from '../../../analytics/datasets/contributions.ts'
import { type Figure, readFigures } from '../../../analytics/datasets/figures.ts'
import { readRecent } from '../../../analytics/stores.ts'
import { permaslugOf } from '../../../catalog/lookup.ts'
import { categories } from '../../../formats/vocabulary.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { utcMonthStart, utcWeekStart } from '../../../platform/time/time.ts'
import { type Period, periodQuery, resolvePeriod, shiftDay } from './period.ts'

export const rankingsDailyQuery = z.object({
  ...periodQuery,
  period: z
    .enum(['day', 'week', 'month'])
    .default('day')
    .describe('What a row covers. Weeks begin on Monday; `date` is the first day.'),
  modality: z.enum(modalities).optional(),
  context_bucket: z
    .enum(contextBuckets)
    .optional()
    .describe('The length of prompts: at most so many tokens, and more than in the bucket before.'),
  category: z
    .enum(categories)
    .optional()
    .describe('Sampled, in weeks: with `period` week or month, and no other filter.'),
  language_type: z
    .enum(['natural', 'programming'])
    .optional()
    .describe('Sampled, in weeks: with `period` week or month, and no other filter.'),
})

export const rankingsDailyItem = z
  .strictObject({
    date: z.string(),
    model_permaslug: z.string().describe('`other` for all models that are not among the first 50.'),
    total_tokens: z.string().describe('Prompt and completion tokens, as a decimal number.'),
  })
  .meta({ id: 'RankingsDailyItem' })

type RankingsDailyQuery = z.output<typeof rankingsDailyQuery>
type RankingsDailyItem = z.input<typeof rankingsDailyItem>

const maxModels = 50

export async function rankModels(
  gateway: Gateway,
  query: RankingsDailyQuery,
  minOrganizations: number,
): Promise<{ data: RankingsDailyItem[]; period: Period }> {
  assertCompatibleFilters(query)
  const period = resolvePeriod(gateway.clock.now(), query)
  const isSampled = query.category !== undefined || query.language_type !== undefined
  const kind = isSampled ? 'topic' : 'model'
  const matches = isSampled ? createTopicFilter(query) : createModelFilter(query)
  // A week is complete in the period, or not part of it.
  const to = isSampled ? shiftDay(period.to, -6) : period.to
  const totals = await readRecent(gateway, async (db) => {
    const tokens = new Map<string, Map<string, number>>()
    await readFigures(db, { kind, from: period.from, to, minOrganizations }, (figure) => {
      if (!matches(figure)) return
      const date = findBucket(figure.day, query.period)
      const model = permaslugOf(gateway.catalog, figure.subject.split('\n')[0] ?? '')
      const ofDate = tokens.get(date) ?? new Map<string, number>()
      ofDate.set(model, (ofDate.get(model) ?? 0) + figure.tokens)
      tokens.set(date, ofDate)
    })
    return tokens
  })
  return { data: [...totals].sort(compareNames).flatMap(([date, models]) => rankDate(date, models)), period }
}

function compareNames([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1
}

function rankDate(date: string, models: Map<string, number>): RankingsDailyItem[] {
  const ranked = [...models].sort((a, b) => b[1] - a[1] || compareNames(a, b))
  const rest = ranked.slice(maxModels).reduce((sum, [, tokens]) => sum + tokens, 0)
  const rows = ranked.slice(0, maxModels)
  if (rest > 0) rows.push(['other', rest])
  return rows.map(([model_permaslug, tokens]) => ({ date, model_permaslug, total_tokens: String(tokens) }))
}

function assertCompatibleFilters(query: RankingsDailyQuery): void {
  const { category, language_type, modality, context_bucket, period } = query
  const sampled = category !== undefined ? 'category' : language_type !== undefined ? 'language_type' : null
  if (sampled === null) return
  if (category !== undefined && language_type !== undefined)
    throw invalidFieldError('language_type', 'cannot be combined with category')
  if (modality !== undefined) throw invalidFieldError('modality', `cannot be combined with ${sampled}`)
  if (context_bucket !== undefined)
    throw invalidFieldError('context_bucket', `cannot be combined with ${sampled}`)
  if (period === 'day')
    throw invalidFieldError('period', `must be week or month with ${sampled}, which is sampled by the week`)
}

function createModelFilter({ modality, context_bucket }: RankingsDailyQuery): (figure: Figure) => boolean {
  return ({ subject }) => {
    const [, traits = '', context] = subject.split('\n')
    if (modality !== undefined && !traits.split(',').includes(modality)) return false
    return context_bucket === undefined || context === context_bucket
  }
}

function createTopicFilter({ category, language_type }: RankingsDailyQuery): (figure: Figure) => boolean {
  return ({ subject }) => {
    const [, topic, language] = subject.split('\n')
    return category !== undefined ? topic === category : language === language_type
  }
}

/** The first day of what a row covers. A week belongs to the month of its Monday. */
function findBucket(day: string, period: RankingsDailyQuery['period']): string {
  if (period === 'day') return day
  return period === 'week' ? utcWeekStart(Date.parse(day)) : utcMonthStart(Date.parse(day))
}
