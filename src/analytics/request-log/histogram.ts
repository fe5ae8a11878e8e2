import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { buildCondition, type Condition, type LogSelection } from './selection.ts'
import { type Bounds, selectRange, walkBatches } from './walk.ts'

/** The batches that are read for one histogram. */
const maxBatches = 50

export interface HistogramBucket {
  start: string
  requests: number
  failed: number
  cancelled: number
  refused: number
  cost: number
}

export interface Histogram {
  buckets: HistogramBucket[]
  /** Time at which the search ended; null if it covers the period. */
  searchedTo: string | null
}

/** The counts of one bucket. */
interface Counts {
  completed: number
  failed: number
  cancelled: number
  refused: number
  cost: bigint
}

/** A bucket, or the part of it that is in a batch. */
interface Part {
  counts: Counts
  selection: LogSelection
  bounds: Bounds
}

/** Requests that match, by the time of their arrival, over the period of the selection. Bounded like a page of the list. */
export async function readHistogram(
  db: Db,
  selection: LogSelection & { from: string; to: string },
  count: number,
): Promise<Histogram> {
  const from = Date.parse(selection.from)
  const widthMs = Math.max(1, Math.ceil((Date.parse(selection.to) - from) / count))
  const totals = Array.from({ length: count }, () => ({
    ...{ completed: 0, failed: 0, cancelled: 0, refused: 0 },
    cost: 0n,
  }))
  let searchedTo: string | null = null
  for await (const bounds of walkBatches(db, selection, null, maxBatches)) {
    for (const part of splitBatch(selection, bounds, totals, widthMs)) await countPart(db, part)
    searchedTo = bounds.until?.created_at ?? null
  }
  const buckets = totals.map(({ completed, failed, cancelled, refused, cost }, index) => ({
    start: new Date(from + index * widthMs).toISOString(),
    requests: completed + failed + cancelled + refused,
    failed,
    cancelled,
    refused,
    cost: usdFromNanos(cost),
  }))
  return { buckets, searchedTo }
}

/** Splits a batch at the starts of the buckets, so that the database counts each part as a whole. */
function* splitBatch(
  selection: LogSelection & { from: string; to: string },
  { after, until }: Bounds,
  totals: readonly Counts[],
  widthMs: number,
): Generator<Part> {
  const start = Date.parse(selection.from)
  const startOf = (index: number) => new Date(start + index * widthMs).toISOString()
  const indexOf = (time: string) => Math.floor((Date.parse(time) - start) / widthMs)
  const newest = Math.min(totals.length - 1, indexOf(after?.created_at ?? selection.to))
  const oldest = Math.max(0, indexOf(until?.created_at ?? selection.from))
  for (let index = oldest; index <= newest; index++) {
    const counts = totals[index]
    if (!counts) continue
    const end = startOf(index + 1)
    yield {
      counts,
      selection: { ...selection, from: startOf(index), to: end < selection.to ? end : selection.to },
      bounds: { after, until: index === oldest ? until : null },
    }
  }
}

async function countPart(db: Db, { counts, selection, bounds }: Part): Promise<void> {
  const { generations, refused } = selection
  const [served, rejected] = await Promise.all([
    generations && countGenerations(db, selection, bounds, generations),
    refused && countRefused(db, selection, bounds, refused),
  ])
  if (served) {
    const [failed, cancelled] = [Number(served.failed), Number(served.cancelled)]
    counts.completed += Number(served.requests) - failed - cancelled
    counts.failed += failed
    counts.cancelled += cancelled
    counts.cost += served.cost_nanos
  }
  counts.refused += Number(rejected?.requests ?? 0)
}

function countGenerations(db: Db, selection: LogSelection, bounds: Bounds, conditions: readonly Condition[]) {
  return db
    .selectFrom('generations')
    .select([
      sql<number | string>`count(*)`.as('requests'),
      sql<number | string>`count(*) filter (where status = 'failed')`.as('failed'),
      sql<number | string>`count(*) filter (where status = 'cancelled')`.as('cancelled'),
      sql<bigint>`cast(coalesce(sum(cost_nanos), 0) as bigint)`.as('cost_nanos'),
    ])
    .where(selectRange(selection, bounds, 'generations'))
    .where(buildCondition(selection, conditions))
    .executeTakeFirst()
}

function countRefused(db: Db, selection: LogSelection, bounds: Bounds, conditions: readonly Condition[]) {
  return db
    .selectFrom('refused_requests')
    .select(sql<number | string>`cast(coalesce(sum(requests), 0) as bigint)`.as('requests'))
    .where(selectRange(selection, bounds, 'refused_requests'))
    .where(buildCondition(selection, conditions))
    .executeTakeFirst()
}
