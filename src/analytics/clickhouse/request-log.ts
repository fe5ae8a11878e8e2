import type { Db } from '../../platform/db/db.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { toLikePattern } from '../../platform/text/wildcard.ts'
import type { Histogram } from '../request-log/histogram.ts'
import { readHistogram } from '../request-log/histogram.ts'
import { buildCondition, type Condition, type LogSelection } from '../request-log/selection.ts'
import {
  type Bounds,
  type GenerationRow,
  type LogPage,
  type LogPosition,
  mergeEntries,
  positionOf,
  readLogPage,
  selectRange,
} from '../request-log/walk.ts'
import type { ClickHouseStore } from './clickhouse-store.ts'
import { decodeGeneration, generationSelection, generationsTable } from './generation-rows.ts'
import { millisecondsOf, quoteList, quoteText, quoteTime, quoteValue } from './sql.ts'
import type { Coverage } from './stream-store.ts'

interface PageRequest {
  limit: number
  start: LogPosition | null
}

const minuteMs = 60_000
/** The first period that is searched, the growth of the next ones, and the one after which all are. */
const firstPeriodMs = 2 * minuteMs
const periodGrowth = 32
const maxPeriodMs = 60 * 24 * 60 * minuteMs
const rowsPerRead = 500

/**
 * A page of the list with the generations of ClickHouse, those that it does not have yet, and the rejected requests of
 * the database. Null unless ClickHouse has all generations.
 */
export async function readStoredLogPage(
  store: ClickHouseStore,
  db: Db,
  selection: LogSelection,
  { limit, start }: PageRequest,
): Promise<LogPage | null> {
  if (!selection.generations || selection.id !== null) return null
  const coverage = await store.readCoverage(db, selection.organizationId)
  if (!coverage?.isBackfilled) return null
  const rejected: LogPage = selection.refused
    ? await readLogPage(db, { ...selection, generations: null }, { limit, start })
    : { entries: [], last: null }
  // The page ends where the search for rejected requests ended.
  const bounds = { after: start, until: rejected.last }
  const pending = await readPending(db, selection, coverage, bounds, limit)
  const stored = await searchGenerations(store, { selection, coverage, bounds, limit })
  const entries = mergeEntries(
    [...stored, ...pending],
    rejected.entries.flatMap(({ refused }) => refused ?? []),
  ).slice(0, limit)
  return { entries, last: entries.length === limit ? positionOf(entries.at(-1)) : rejected.last }
}

/** The matching generations that ClickHouse does not have yet, at least the newest `limit` of them. */
async function readPending(
  db: Db,
  selection: LogSelection,
  { pending }: Coverage,
  bounds: Bounds,
  limit = rowsPerRead,
): Promise<GenerationRow[]> {
  const found: GenerationRow[] = []
  for (let at = 0; at < pending.length; at += rowsPerRead) {
    const rows = await db
      .selectFrom('generations')
      .selectAll()
      .where('id', 'in', pending.slice(at, at + rowsPerRead))
      .where(selectRange(db, selection, bounds, 'generations'))
      .where(buildCondition(selection, selection.generations ?? []))
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute()
    found.push(...rows)
  }
  return found
}

interface Search {
  selection: LogSelection
  coverage: Coverage
  bounds: Bounds
  limit: number
}

/** Searches longer and longer periods, the newest first: usually the first ones have enough. */
async function searchGenerations(store: ClickHouseStore, search: Search): Promise<GenerationRow[]> {
  const { selection, coverage, bounds, limit } = search
  const found: GenerationRow[] = []
  let to = await findNewestTime(store, search)
  let periodMs = firstPeriodMs
  while (to !== null && found.length < limit) {
    const from = periodMs > maxPeriodMs ? null : to - periodMs
    const conditions = [
      ...listConditions(selection, coverage, bounds),
      `created_at <= ${quoteTime(to)}`,
      ...(from === null ? [] : [`created_at > ${quoteTime(from)}`]),
    ]
    const rows = await store.select(`SELECT ${generationSelection} FROM ${generationsTable} FINAL
WHERE ${conditions.join(' AND ')}
ORDER BY created_at DESC, id DESC LIMIT ${limit - found.length}`)
    found.push(...rows.map(decodeGeneration))
    to = from
    periodMs *= periodGrowth
  }
  return found
}

/** The arrival of the newest generation of the organization in the period; null if there is none. */
async function findNewestTime(
  store: ClickHouseStore,
  { selection: { organizationId, from, to }, bounds }: Search,
): Promise<number | null> {
  const conditions = [`organization_id = ${quoteText(organizationId)}`, ...listBounds({ from, to }, bounds)]
  const [newest] = await store.select(`SELECT ${millisecondsOf('created_at')} FROM ${generationsTable}
WHERE ${conditions.join(' AND ')} ORDER BY created_at DESC LIMIT 1`)
  return newest ? Number(newest[0]) : null
}

function listConditions(
  { organizationId, from, to, generations, isUnsuccessful, visible }: LogSelection,
  { retainedFrom, pending }: Coverage,
  bounds: Bounds,
): string[] {
  const alternatives = visible?.map((conditions) => joinConditions(conditions.map(toSql), 'AND'))
  return [
    `organization_id = ${quoteText(organizationId)}`,
    ...listBounds({ from, to }, bounds),
    ...(generations ?? []).map(toSql),
    ...(isUnsuccessful ? [`status <> 'completed'`] : []),
    ...(alternatives ? [joinConditions(alternatives, 'OR')] : []),
    ...(retainedFrom === null ? [] : [`ended_at >= ${quoteTime(Date.parse(retainedFrom))}`]),
    ...(pending.length === 0 ? [] : [`id NOT IN ${quoteList(pending)}`]),
  ]
}

function listBounds({ from, to }: { from: string | null; to: string | null }, { after, until }: Bounds) {
  const position = ({ created_at, id }: LogPosition) =>
    `(${quoteTime(Date.parse(created_at))}, ${quoteText(id)})`
  return [
    ...(from === null ? [] : [`created_at >= ${quoteTime(Date.parse(from))}`]),
    ...(to === null ? [] : [`created_at < ${quoteTime(Date.parse(to))}`]),
    ...(after === null
      ? []
      : [
          `created_at <= ${quoteTime(Date.parse(after.created_at))}`,
          `(created_at, id) < ${position(after)}`,
        ]),
    ...(until === null
      ? []
      : [
          `created_at >= ${quoteTime(Date.parse(until.created_at))}`,
          `(created_at, id) >= ${position(until)}`,
        ]),
  ]
}

/** As in SQL of the database. Names of columns are those of the selection, which no client chooses. */
function toSql(condition: Condition): string {
  if ('any' in condition) return joinConditions(condition.any.map(toSql), 'OR')
  if ('not' in condition) return `NOT (${toSql(condition.not)})`
  if ('min' in condition) return `${condition.column} >= ${quoteValue(condition.min)}`
  if ('max' in condition) return `${condition.column} <= ${quoteValue(condition.max)}`
  if ('part' in condition)
    return `position(concat('\\n', ifNull(${condition.column}, ''), '\\n'), ${quoteText(condition.part)}) > 0`
  if ('pattern' in condition) {
    const pattern = quoteText(toLikePattern(condition.pattern))
    return joinConditions(
      condition.columns.map((column) => `ifNull(${column} ILIKE ${pattern}, 0)`),
      'OR',
    )
  }
  const list = quoteList(condition.values)
  if (condition.values.length === 0) return '0'
  return joinConditions(
    condition.columns.map((column) => `ifNull(${column} IN ${list}, 0)`),
    'OR',
  )
}

function joinConditions(parts: readonly string[], operator: 'AND' | 'OR'): string {
  if (parts.length === 0) return operator === 'AND' ? '1' : '0'
  return `(${parts.join(` ${operator} `)})`
}

/** Counts of the list over time, with all generations of the period. Null unless ClickHouse has them. */
export async function readStoredHistogram(
  store: ClickHouseStore,
  db: Db,
  selection: LogSelection & { from: string; to: string },
  count: number,
): Promise<Histogram | null> {
  if (!selection.generations) return null
  const coverage = await store.readCoverage(db, selection.organizationId)
  if (!coverage?.isBackfilled) return null
  const { buckets, searchedTo } = await readHistogram(db, { ...selection, generations: null }, count)
  const from = Date.parse(selection.from)
  const widthMs = Math.max(1, Math.ceil((Date.parse(selection.to) - from) / count))
  const searched = { ...selection, from: searchedTo ?? selection.from }
  const pending = await readPending(db, searched, coverage, { after: null, until: null })
  const rows =
    await store.select(`SELECT intDiv(${millisecondsOf('created_at')} - ${from}, ${widthMs}) AS bucket,
  status, count(), sum(cost_nanos)
FROM ${generationsTable} FINAL
WHERE ${listConditions(searched, coverage, { after: null, until: null }).join(' AND ')}
GROUP BY bucket, status`)
  const counts = [
    ...rows.map(([bucket, status, requests, cost]) => ({
      bucket: Number(bucket),
      status: String(status),
      requests: Number(requests),
      cost: BigInt(String(cost)),
    })),
    ...pending.map(({ created_at, status, cost_nanos }) => ({
      bucket: Math.floor((Date.parse(created_at) - from) / widthMs),
      ...{ status: String(status), requests: 1, cost: cost_nanos },
    })),
  ]
  const byBucket = Map.groupBy(counts, ({ bucket }) => bucket)
  return {
    searchedTo,
    buckets: buckets.map((bucket, index) => {
      const ofBucket = byBucket.get(index) ?? []
      const countOf = (status: string | null) =>
        ofBucket.reduce(
          (sum, row) => (status === null || row.status === status ? sum + row.requests : sum),
          0,
        )
      return {
        ...bucket,
        requests: bucket.requests + countOf(null),
        failed: countOf('failed'),
        cancelled: countOf('cancelled'),
        cost: usdFromNanos(ofBucket.reduce((sum, { cost }) => sum + cost, 0n)),
      }
    }),
  }
}
