import { badField, fail } from '../../errors.ts'
import type { Gateway } from '../../gateway.ts'
import { answer, answerSingly } from '../../ledger/rollups/answer.ts'
import { TooSlowError } from '../../ledger/rollups/segments.ts'
import {
  type Dimension,
  type Filter,
  type Grain,
  type Group,
  type Question,
  TooManyGroupsError,
} from '../../ledger/rollups/tally.ts'
import { dimensionsByName, urlOf } from './dimensions.ts'
import { type ReadFilters, readFilters } from './filters.ts'
import { metricsByName } from './metrics.ts'
import { type Names, namesOf } from './names.ts'
import { type QueryBody, type Range, rangeOf } from './request.ts'
import { bucketField, largest, metricsOf, rankingOf, shownGroups } from './rows.ts'

const limitMs = 10_000
/** A list in one statement. */
const mostGenerations = 1000

type Row = Record<string, string | number | null>

export interface Answered {
  rows: Row[]
  truncated: boolean
  warnings: string[]
}

export async function runQuery(gateway: Gateway, organizationId: string, body: QueryBody): Promise<Answered> {
  const range = rangeOf(body, gateway.clock.now())
  const read = await readFilters(gateway, organizationId, body.filters)
  const titles = new Map<string, string>()
  const question = questionOf(gateway, body, range, read, titles)
  const ask = (wanted: Question) => askGroups(gateway, organizationId, body, wanted, read)
  const { groups, isCut } = await keptGroups(body, question, ask)
  const { groups: shown, truncated } = shownGroups(groups, body)
  const names = await namesOf(gateway, organizationId, body.dimensions, shown, titles)
  return {
    rows: shown.map((group) => rowOf(body, group, names)),
    truncated: truncated || isCut,
    warnings: read.warnings,
  }
}

/** Assigned one by one: there are thousands of rows. */
function rowOf({ granularity, dimensions, metrics }: QueryBody, group: Group, names: Names[]): Row {
  const row: Row = {}
  if (granularity) row[bucketField(granularity)] = group.bucket
  for (let place = 0; place < dimensions.length; place++) {
    const id = group.values[place] ?? null
    const known = id === null ? undefined : names[place]?.get(id)
    const dimension = dimensions[place] ?? ''
    row[dimension] = known?.name ?? id
    if (dimension === 'user') row.user_email = known?.email ?? null
  }
  for (const name of metrics) row[name] = metricsByName.get(name)?.value(group) ?? null
  return row
}

function questionOf(
  { catalog }: Gateway,
  body: QueryBody,
  range: Range,
  { filters }: ReadFilters,
  titles: Map<string, string>,
): Question {
  const asked = metricsOf(body)
  const dimensions = body.dimensions.map((name): Dimension => {
    const kind = dimensionsByName.get(name)
    return {
      column: kind?.column ?? 'none',
      read: (value) => {
        if (name === 'app') noteTitle(value, titles)
        return kind?.read(value, catalog) ?? null
      },
    }
  })
  return {
    ...range,
    grain: body.granularity ?? null,
    dimensions,
    filters,
    measures: [...new Set(asked.flatMap(({ measures }) => measures))],
    spreads: [...new Set(asked.flatMap(({ spreads }) => spreads))],
  }
}

type Ask = (question: Question) => Promise<Group[]>

/**
 * Lines of a chart that nobody can tell apart are left out: the largest groups stay, with all their buckets of
 * time. They are found first, so that a group that is left out costs nothing more.
 */
async function keptGroups(
  body: QueryBody,
  question: Question,
  ask: Ask,
): Promise<{ groups: Group[]; isCut: boolean }> {
  const most = groupLimit(body, question)
  if (most === null) return { groups: await ask(question), isCut: false }
  const { measures } = rankingOf(body)
  const totals = await ask({ ...question, grain: null, measures, spreads: [] })
  const kept = largest(totals, body, most)
  if (!kept) return { groups: await ask(question), isCut: false }
  const names = new Set(kept.map(({ values }) => JSON.stringify(values)))
  const filters = question.dimensions.map(({ column, read }, place): Filter => {
    const wanted = new Set(kept.map(({ values }) => values[place]))
    return { column, keeps: (value) => wanted.has(read(value)) }
  })
  const groups = await ask({ ...question, filters: [...question.filters, ...filters] })
  return { groups: groups.filter(({ values }) => names.has(JSON.stringify(values))), isCut: true }
}

/** Null where every group is kept. */
function groupLimit(body: QueryBody, { from, to }: Question): number | null {
  if (body.dimensions.length === 0) return null
  if (body.group_limit !== undefined) return body.group_limit
  if (!body.granularity) return null
  const buckets = Math.ceil((to - from) / grainMs[body.granularity]) + 1
  return Math.max(1, Math.floor(body.limit / buckets))
}

/** The latest title an app gave itself is its name. */
function noteTitle(app: string | null, titles: Map<string, string>): void {
  const title = app?.split('\n')[1]
  if (title) titles.set(urlOf(app) ?? '', title)
}

async function askGroups(
  { db }: Gateway,
  organizationId: string,
  body: QueryBody,
  question: Question,
  { generationIds }: ReadFilters,
): Promise<Group[]> {
  try {
    const isSingle = [...question.dimensions, ...question.filters].some(({ column }) => column === 'id')
    if (!isSingle) return await answer(db, { organizationId, question, limitMs })
    const ids = generationIds?.slice(0, mostGenerations) ?? null
    return await answerSingly(db, { organizationId, question, limitMs, ids, enough: newestSuffice(body) })
  } catch (error) {
    if (error instanceof TooSlowError) throw fail('request_timeout', 'The query took too long.')
    if (error instanceof TooManyGroupsError) throw badField('dimensions', `the query has ${error.message}`)
    throw error
  }
}

/** The newest generations are found without reading all of them, one more than is shown. */
function newestSuffice({ order_by, dimensions, granularity, limit }: QueryBody): number | null {
  const newestFirst = !order_by || (order_by.field === 'generation_id' && order_by.direction === 'desc')
  return newestFirst && dimensions.includes('generation_id') && !granularity ? limit + 1 : null
}

const grainMs: Record<Grain, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 28 * 86_400_000,
}
