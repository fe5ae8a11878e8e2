import {
  type Dimension,
  type Filter,
  type Granularity,
  type Group,
  type RollupQuery,
  TooManyGroupsError,
} from '../../../analytics/rollups/aggregator.ts'
import { queryGenerations } from '../../../analytics/rollups/query.ts'
import { RollupTimeoutError } from '../../../analytics/rollups/segment-store.ts'
import { readRecent } from '../../../analytics/stores.ts'
import { queryUsage } from '../../../analytics/usage.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { findDimension, otherValue, urlOf } from './dimensions.ts'
import { type ParsedFilters, parseFilters } from './filters.ts'
import {
  bucketFieldOf,
  resolveMetrics,
  resolveRankingMetric,
  selectLargestGroups,
  sortAndLimitGroups,
} from './groups.ts'
import { type CountedGroup, metricsByName } from './metrics.ts'
import { type DisplayNames, idFields, loadDisplayNames } from './names.ts'
import { type QueryBody, resolveTimeRange, type TimeRange } from './request.ts'

const timeoutMs = 10_000
/** The maximum number of values in one statement. */
const maxGenerations = 1000

type ResultRow = Record<string, string | number | null>

export interface QueryResult {
  rows: ResultRow[]
  truncated: boolean
  warnings: string[]
}

export async function runQuery(
  gateway: Gateway,
  { organizationId, visible }: { organizationId: string; visible: Filter[][] },
  body: QueryBody,
): Promise<QueryResult> {
  const range = resolveTimeRange(body, gateway.clock.now())
  const parsed = await parseFilters(gateway, organizationId, body.filters)
  const titles = new Map<string, string>()
  const runRollup = (query: RollupQuery) => queryGroups(gateway, organizationId, body, query, parsed)
  const built = { ...buildRollupQuery(gateway, body, range, parsed, titles), alternatives: visible }
  const rollupQuery = await boundDimensions(body, built, runRollup)
  const { groups, isTruncated } = await loadTopGroups(body, rollupQuery, runRollup)
  const isCounting = resolveMetrics(body).some(({ readsFailures }) => readsFailures)
  const counted = isCounting ? await countFailures(groups, rollupQuery, runRollup) : groups
  const { groups: shown, truncated } = sortAndLimitGroups(counted, body)
  const names = await loadDisplayNames(gateway, organizationId, body.dimensions, shown, titles)
  return {
    rows: shown.map((group) => buildRow(body, group, names)),
    truncated: truncated || isTruncated,
    warnings: parsed.warnings,
  }
}

/** Assigned one by one for speed: there are thousands of rows. */
function buildRow(
  { granularity, dimensions, metrics }: QueryBody,
  group: CountedGroup,
  names: DisplayNames[],
): ResultRow {
  const row: ResultRow = {}
  if (granularity) row[bucketFieldOf(granularity)] = group.bucket
  for (let index = 0; index < dimensions.length; index++) {
    const id = group.values[index] ?? null
    const known = id === null ? undefined : names[index]?.get(id)
    const dimension = dimensions[index] ?? ''
    row[dimension] = known?.name ?? id
    const idField = idFields[dimension]
    if (idField !== undefined) row[idField] = known?.id ?? id
    if (dimension === 'user') row.user_email = known?.email ?? null
  }
  for (const name of metrics) row[name] = metricsByName.get(name)?.value(group) ?? null
  return row
}

function buildRollupQuery(
  { catalog }: Gateway,
  body: QueryBody,
  range: TimeRange,
  { filters }: ParsedFilters,
  titles: Map<string, string>,
): RollupQuery {
  const requestedMetrics = resolveMetrics(body)
  const dimensions = body.dimensions.map((name): Dimension => {
    const kind = findDimension(name)
    return {
      column: kind?.column ?? 'none',
      read: (value) => {
        if (name === 'app') recordTitle(value, titles)
        return kind?.read(value, catalog) ?? null
      },
    }
  })
  return {
    ...range,
    granularity: body.granularity ?? null,
    dimensions,
    filters,
    measures: [...new Set(requestedMetrics.flatMap(({ measures }) => measures))],
    histograms: [...new Set(requestedMetrics.flatMap(({ spreads }) => spreads))],
  }
}

/** Where a dimension has too many values, those with the fewest requests become one. The same for every store. */
async function boundDimensions(
  body: QueryBody,
  query: RollupQuery,
  runRollup: RunRollup,
): Promise<RollupQuery> {
  const dimensions: Dimension[] = []
  for (const [index, dimension] of query.dimensions.entries()) {
    const max = findDimension(body.dimensions[index] ?? '')?.maxValues
    dimensions.push(max === undefined ? dimension : await boundDimension(query, dimension, max, runRollup))
  }
  return { ...query, dimensions }
}

async function boundDimension(
  query: RollupQuery,
  dimension: Dimension,
  max: number,
  runRollup: RunRollup,
): Promise<Dimension> {
  const alone = { ...query, granularity: null, dimensions: [dimension], measures: [], histograms: [] }
  const named = (await runRollup(alone)).filter(({ values }) => values[0] !== null)
  if (named.length <= max) return dimension
  const frequent = new Set(
    named
      .sort(compareFrequency)
      .slice(0, max)
      .map(({ values }) => values[0]),
  )
  const read = (stored: string | null) => {
    const value = dimension.read(stored)
    return value === null || frequent.has(value) ? value : otherValue
  }
  return { ...dimension, read }
}

function compareFrequency(a: Group, b: Group): number {
  const difference = b.sum('requests') - a.sum('requests')
  if (difference !== 0n) return difference > 0n ? 1 : -1
  return (a.values[0] ?? '') < (b.values[0] ?? '') ? -1 : 1
}

type RunRollup = (query: RollupQuery) => Promise<Group[]>

/**
 * Limits a chart to its largest groups, with all their time buckets. They are determined first, so that an omitted
 * group costs nothing more.
 */
async function loadTopGroups(
  body: QueryBody,
  query: RollupQuery,
  runRollup: RunRollup,
): Promise<{ groups: Group[]; isTruncated: boolean }> {
  const maxGroups = computeGroupLimit(body, query)
  if (maxGroups === null) return { groups: await runRollup(query), isTruncated: false }
  const rank = resolveRankingMetric(body)
  const ranking = { ...query, granularity: null, measures: rank.measures, histograms: [] }
  const totals = await runRollup(ranking)
  const counted = rank.readsFailures ? await countFailures(totals, ranking, runRollup) : totals
  const top = selectLargestGroups(counted, body, maxGroups)
  if (!top) return { groups: await runRollup(query), isTruncated: false }
  const names = new Set(top.map(({ values }) => JSON.stringify(values)))
  const filters = query.dimensions.map(({ column, read }, index): Filter => {
    const topValues = new Set(top.map(({ values }) => values[index] ?? null))
    const matches = (value: string | null) => topValues.has(read(value))
    const values = [...topValues].filter((value) => value !== null)
    const isStored = findDimension(body.dimensions[index] ?? '')?.isStoredValue
    return { column, matches, ...(isStored && values.length === topValues.size && { values }) }
  })
  const groups = await runRollup({ ...query, filters: [...query.filters, ...filters] })
  return { groups: groups.filter(({ values }) => names.has(JSON.stringify(values))), isTruncated: true }
}

/** Requests that failed or were canceled: those without a finish reason, or with `error`. */
const failureFilter: Filter = { column: 'finish', matches: (reason) => reason === null || reason === 'error' }

/** Adds the number of failures, which no roll-up sums: a second query counts them. */
async function countFailures(
  groups: readonly Group[],
  query: RollupQuery,
  runRollup: RunRollup,
): Promise<CountedGroup[]> {
  const keyOf = ({ bucket, values }: Group) => JSON.stringify([bucket, values])
  const filters = [...query.filters, failureFilter]
  const failed = await runRollup({ ...query, filters, measures: [], histograms: [] })
  const counts = new Map(failed.map((group) => [keyOf(group), group.sum('requests')]))
  return groups.map((group) => ({
    bucket: group.bucket,
    values: group.values,
    sum: (measure) => group.sum(measure),
    average: (histogram) => group.average(histogram),
    percentile: (histogram, share) => group.percentile(histogram, share),
    failures: counts.get(keyOf(group)) ?? 0n,
  }))
}

/** Null if every group is returned. */
function computeGroupLimit(body: QueryBody, { from, to }: RollupQuery): number | null {
  if (body.dimensions.length === 0) return null
  if (body.group_limit !== undefined) return body.group_limit
  if (!body.granularity) return null
  const buckets = Math.ceil((to - from) / grainMs[body.granularity]) + 1
  return Math.max(1, Math.floor(body.limit / buckets))
}

/** The latest title of an app is its name. */
function recordTitle(app: string | null, titles: Map<string, string>): void {
  const title = app?.split('\n')[1]
  if (title) titles.set(urlOf(app) ?? '', title)
}

async function queryGroups(
  gateway: Gateway,
  organizationId: string,
  body: QueryBody,
  incoming: RollupQuery,
  { generationIds }: ParsedFilters,
): Promise<Group[]> {
  try {
    const isSingle = [...incoming.dimensions, ...incoming.filters].some(({ column }) => column === 'id')
    if (!isSingle) return await queryUsage(gateway, { organizationId, query: incoming, timeoutMs })
    const ids = generationIds?.slice(0, maxGenerations) ?? null
    const single = { organizationId, query: incoming, timeoutMs, ids, limit: computeNewestLimit(body) }
    // A client may ask for a request by its id before the replica has it.
    if (ids) return await queryGenerations(gateway.db, single)
    return await readRecent(gateway, (db) => queryGenerations(db, single))
  } catch (error) {
    if (error instanceof RollupTimeoutError)
      throw gatewayError(
        'request_timeout',
        'The query took too long. Query a shorter time range, or fewer dimensions.',
      )
    if (error instanceof TooManyGroupsError)
      throw invalidFieldError('dimensions', `the query has ${error.message}`)
    throw error
  }
}

/** Finds the newest generations without reading all of them, one more than is returned. */
function computeNewestLimit({ order_by, dimensions, granularity, limit }: QueryBody): number | null {
  const newestFirst = !order_by || (order_by.field === 'generation_id' && order_by.direction === 'desc')
  return newestFirst && dimensions.includes('generation_id') && !granularity ? limit + 1 : null
}

const grainMs: Record<Granularity, number> = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 28 * 86_400_000,
}
