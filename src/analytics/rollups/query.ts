import { decodeReversal, selectSourceColumns } from '../../ledger/usage-record.ts'
import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import { runInSlices, yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { Aggregator, countMeasure, type Group, type RollupQuery } from './aggregator.ts'
import { selectComplete } from './level-rows.ts'
import { type LevelDefinition, rollupLevels, type SegmentLevel } from './levels.ts'
import { buildSegments, type RollupSegment } from './segment.ts'
import {
  hasSummaries,
  listSegments,
  loadSegments,
  loadSummaries,
  RollupTimeoutError,
  type SegmentListing,
  type SegmentRow,
  type UnrolledGeneration,
} from './segment-store.ts'
import {
  findPreviousSlice,
  type QueryScope,
  readGenerations,
  readGenerationsInScope,
  readSlice,
} from './slices.ts'

/** Rows that are read before yielding to the event loop. */
const maxRowsPerBatch = 100_000
const maxSliceRows = 5000
const minSliceRows = 500
const maxAttempts = 5
const dayMs = 86_400_000
const hourMs = 3_600_000

export interface QueryRequest {
  organizationId: string
  query: RollupQuery
  /** Maximum duration of the query. */
  timeoutMs: number
}

/** Queries the roll-ups, and the generations that are not in them yet: exact at any moment. */
export async function queryRollups(
  db: Db,
  { organizationId, query, timeoutMs }: QueryRequest,
): Promise<Group[]> {
  const deadline = performance.now() + timeoutMs
  return retryReading(async () => {
    const aggregator = new Aggregator(query)
    const toDay = utcDay(query.to - 1)
    return (await addRollups(db, aggregator, { organizationId, query, toDay, deadline })) ? aggregator : null
  })
}

/** Tries again when what was read changed meanwhile, which is when `read` resolves to null. */
export async function retryReading(read: () => Promise<Aggregator | null>): Promise<Group[]> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const aggregator = await read()
    if (aggregator) return aggregator.groups()
  }
  throw new RollupTimeoutError('the roll-ups were compacted during every attempt')
}

export interface RollupPeriod {
  organizationId: string
  query: RollupQuery
  /** The last day to add. */
  toDay: string
  /** As `performance.now()` counts. */
  deadline: number
}

/** Adds the roll-ups, and what is not in them yet. False when some of it was replaced meanwhile. */
export async function addRollups(
  db: Db,
  aggregator: Aggregator,
  { organizationId, query, toDay, deadline }: RollupPeriod,
): Promise<boolean> {
  const listing = await listSegments(db, { organizationId, fromDay: utcDay(query.from), toDay })
  if (!(await addParts(db, aggregator, splitQuery(query), listing, deadline))) return false
  const unrolled = { generations: listing.unrolled, isIncluded: (day: string) => day <= toDay }
  return addGenerations(db, aggregator, query, unrolled, deadline)
}

function scopeOf(organizationId: string, { from, to }: RollupQuery): QueryScope {
  return { organizationId, from: new Date(from).toISOString(), to: new Date(to).toISOString() }
}

/** Sums, and distributions: only these need a row for each request, and columns of it that are few. */
function splitQuery(query: RollupQuery): RollupQuery[] {
  const sums = { ...query, measures: [countMeasure, ...query.measures], histograms: [] }
  return query.histograms.length === 0 ? [sums] : [sums, { ...query, measures: [] }]
}

/** False when a segment was replaced meanwhile. */
async function addParts(
  db: Db,
  aggregator: Aggregator,
  parts: readonly RollupQuery[],
  listing: SegmentListing,
  deadline: number,
): Promise<boolean> {
  for (const part of parts) if (!(await addSegments(db, aggregator, part, listing, deadline))) return false
  return true
}

async function addSegments(
  db: Db,
  aggregator: Aggregator,
  query: RollupQuery,
  { segments }: SegmentListing,
  deadline: number,
): Promise<boolean> {
  const chosen = chooseSegments(segments, query)
  for (const [kind, some] of Map.groupBy(chosen, (row) => chooseReading(query, row))) {
    for (const batch of splitBatches(some)) {
      const loaded = await readSegments(db, batch, query, kind)
      if (!loaded) return false
      await addSegmentsInSlices(aggregator, loaded, deadline)
    }
  }
  return true
}

type Reading = 'summaries' | 'whole days' | 'parts of days'

/** Chooses what to read: only days that are partly in the period need the time of each request. */
function chooseReading(query: RollupQuery, row: SegmentRow): Reading {
  if (!isWholeDay(query, row.day)) return 'parts of days'
  return isDistributionOfAll(query) && hasSummaries(row) ? 'summaries' : 'whole days'
}

/** Whether all requests of a day are in the same group. */
function isDistributionOfAll({ granularity, dimensions, filters, alternatives = [], measures }: RollupQuery) {
  const isByTime = granularity === 'hour' || granularity === 'minute'
  return measures.length + dimensions.length + filters.length + alternatives.length === 0 && !isByTime
}

function readSegments(db: Db, rows: readonly SegmentRow[], query: RollupQuery, kind: Reading) {
  if (kind === 'summaries') return loadSummaries(db, rows, query.histograms)
  return loadSegments(db, rows, selectColumns(query, kind === 'whole days'))
}

/** Yields to the event loop: a reply in progress must not wait for analytics. */
export async function addSegmentsInSlices(
  aggregator: Aggregator,
  segments: Iterable<RollupSegment>,
  deadline: number,
): Promise<void> {
  await runInSlices(
    (function* () {
      for (const segment of segments) yield* aggregator.add(segment)
    })(),
  )
  if (performance.now() > deadline) throw new RollupTimeoutError('the query took too long')
  await yieldToEventLoop()
}

/** Chooses, for each day, the smallest roll-up that has all requests and the requested columns. */
function chooseSegments(segments: readonly SegmentRow[], query: RollupQuery): SegmentRow[] {
  return [...Map.groupBy(segments, ({ day }) => day)].flatMap(([day, ofDay]) => {
    const capable = selectComplete(ofDay).filter(({ level }) => canServe(level, query, day))
    return capable.sort((a, b) => a.size - b.size)[0]?.rows ?? []
  })
}

function canServe(level: SegmentLevel, query: RollupQuery, day: string): boolean {
  if (level === 'request') return true
  const { labels, byHour }: LevelDefinition = rollupLevels[level]
  const { granularity, histograms } = query
  if (histograms.length > 0 || granularity === 'minute' || (granularity === 'hour' && !byHour)) return false
  const queried = listQueriedColumns(query)
  if (!queried.every((column) => column === 'none' || labels.some((label) => label === column))) return false
  return isWholeDay(query, day) || (byHour && query.from % hourMs === 0 && query.to % hourMs === 0)
}

function listQueriedColumns({ dimensions, filters, alternatives = [] }: RollupQuery) {
  return [...dimensions, ...filters, ...alternatives.flat()].map(({ column }) => column)
}

function isWholeDay({ from, to }: RollupQuery, day: string): boolean {
  const start = Date.parse(day)
  return from <= start && to >= start + dayMs
}

function selectColumns(query: RollupQuery, isWhole: boolean): string[] {
  const { granularity, measures, histograms } = query
  const columns = listQueriedColumns(query)
  const time = !isWhole || granularity === 'hour' || granularity === 'minute' ? ['time'] : []
  return [...new Set<string>([...columns, ...measures, ...histograms, ...time])]
}

function createColumnFilter(query: RollupQuery): (column: string) => boolean {
  const names = new Set([countMeasure, ...selectColumns(query, false)])
  return (column) => names.has(column)
}

function splitBatches(rows: readonly SegmentRow[]): SegmentRow[][] {
  const batches: SegmentRow[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const row of rows) {
    if (size + row.size > maxRowsPerBatch) {
      batches.push([])
      size = 0
    }
    batches.at(-1)?.push(row)
    size += row.size
  }
  return batches
}

/** Generations to read from the database, of days that are to be added. */
interface GenerationsToAdd {
  generations: readonly UnrolledGeneration[]
  isIncluded: (day: string) => boolean
}

/**
 * Adds what is in no segment yet, and reverses what a segment counts that was corrected since. False when
 * some of it is gone.
 */
export async function addGenerations(
  db: Db,
  aggregator: Aggregator,
  query: RollupQuery,
  { generations, isIncluded }: GenerationsToAdd,
  deadline: number,
): Promise<boolean> {
  const isSelected = createColumnFilter(query)
  const columns = selectSourceColumns(isSelected)
  for (let at = 0; at < generations.length; at += maxSliceRows) {
    const some = generations.slice(at, at + maxSliceRows)
    const ids = some.map(({ generationId }) => generationId)
    const records = await readGenerations(db, ids, columns)
    if (records.length < ids.length) return false
    const reversals = some.flatMap(({ previous }) => (previous === null ? [] : [decodeReversal(previous)]))
    const segments = buildSegments([...records, ...reversals], isSelected)
    await addSegmentsInSlices(
      aggregator,
      segments.filter(({ day }) => isIncluded(day)),
      deadline,
    )
  }
  return true
}

export interface GenerationQueryRequest extends QueryRequest {
  /** Ids of the generations to read; null for the newest. */
  ids: readonly string[] | null
  /** Number of the newest that is enough; null when all have to be read. */
  limit: number | null
}

/**
 * Single requests, which no roll-up has. A request that took longer than an hour, or during which the clock
 * went back by more, is not found by time.
 */
export async function queryGenerations(
  db: Db,
  { organizationId, query, timeoutMs, ids, limit }: GenerationQueryRequest,
): Promise<Group[]> {
  const deadline = performance.now() + timeoutMs
  const scope = scopeOf(organizationId, query)
  const isSelected = createColumnFilter(query)
  const columns = selectSourceColumns(isSelected)
  const aggregator = new Aggregator(query)
  if (ids) {
    await addSegmentsInSlices(
      aggregator,
      buildSegments(await readGenerationsInScope(db, ids, scope), isSelected),
      deadline,
    )
    return aggregator.groups()
  }
  const since = new Date(query.from - hourMs).toISOString()
  let until = new Date(query.to + hourMs).toISOString()
  let size = Math.min(maxSliceRows, Math.max(minSliceRows, (limit ?? maxSliceRows) * 2))
  while (until > since && (limit === null || aggregator.groupCount < limit)) {
    const slice = await findPreviousSlice(db, since, until, size)
    if (!slice) break
    await addSegmentsInSlices(
      aggregator,
      buildSegments(await readSlice(db, slice, scope, columns), isSelected),
      deadline,
    )
    until = slice.from
    size = Math.min(maxSliceRows, size * 2)
  }
  return aggregator.groups()
}
