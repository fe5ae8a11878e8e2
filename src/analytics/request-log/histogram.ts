import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { RollupTimeoutError } from '../rollups/segment-store.ts'
import { findLookup } from './lookup.ts'
import { findKnownPeriod, listPeriods, type Narrowing, narrow, type Period } from './narrowing.ts'
import { buildCondition, type Condition, type LogSelection } from './selection.ts'
import {
  type Bounds,
  firstBatches,
  type LogEntry,
  type LogPosition,
  minBatches,
  selectRange,
  walkBatches,
} from './walk.ts'

/** The batches that are read for one histogram. */
const maxBatches = 50
/** After `minBatches`, it ends when this time is over. */
const maxMs = 700

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

type PeriodSelection = LogSelection & { from: string; to: string }

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
  selection: PeriodSelection
  bounds: Bounds
}

/** Requests that match, by the time of their arrival, over the period of the selection. Bounded like a page of the list. */
export async function readHistogram(db: Db, selection: PeriodSelection, count: number): Promise<Histogram> {
  const counts = new BucketCounts(selection, count)
  const searchedTo = await countAll(db, selection, counts)
  return { buckets: counts.list(), searchedTo }
}

class BucketCounts {
  readonly #start: number
  readonly #widthMs: number
  readonly #all: Counts[]

  constructor({ from, to }: PeriodSelection, count: number) {
    this.#start = Date.parse(from)
    this.#widthMs = Math.max(1, Math.ceil((Date.parse(to) - this.#start) / count))
    this.#all = Array.from({ length: count }, () => ({
      ...{ completed: 0, failed: 0, cancelled: 0, refused: 0 },
      cost: 0n,
    }))
  }

  add({ generation, refused }: LogEntry): void {
    const counts = this.#all[this.#indexOf((generation ?? refused).created_at)]
    if (!counts) return
    if (refused) counts.refused += refused.requests
    if (!generation) return
    counts[generation.status]++
    counts.cost += generation.cost_nanos
  }

  /** Splits a batch at the starts of the buckets, so that the database counts each part as a whole. */
  *split(selection: PeriodSelection, { after, until }: Bounds): Generator<Part> {
    const newest = Math.min(this.#all.length - 1, this.#indexOf(after?.created_at ?? selection.to))
    const oldest = Math.max(0, this.#indexOf(until?.created_at ?? selection.from))
    for (let index = oldest; index <= newest; index++) {
      const counts = this.#all[index]
      if (!counts) continue
      const [from, to] = [this.#startOf(index), this.#startOf(index + 1)]
      yield {
        counts,
        selection: {
          ...selection,
          from: from > selection.from ? from : selection.from,
          to: to < selection.to ? to : selection.to,
        },
        bounds: { after, until: index === oldest ? until : null },
      }
    }
  }

  list(): HistogramBucket[] {
    return this.#all.map(({ completed, failed, cancelled, refused, cost }, index) => ({
      start: this.#startOf(index),
      requests: completed + failed + cancelled + refused,
      failed,
      cancelled,
      refused,
      cost: usdFromNanos(cost),
    }))
  }

  #indexOf(time: string): number {
    return Math.floor((Date.parse(time) - this.#start) / this.#widthMs)
  }

  #startOf(index: number): string {
    return new Date(this.#start + index * this.#widthMs).toISOString()
  }
}

/** Returns the time at which the search ended; null if it covers the period. */
async function countAll(db: Db, selection: PeriodSelection, counts: BucketCounts): Promise<string | null> {
  const found = await findLookup(db, selection)
  if (found) {
    for (const entry of found) counts.add(entry)
    return null
  }
  const narrowing = narrow(selection)
  if (!narrowing) return timeOf(await countBatches(db, selection, counts))
  const start = await countBatches(db, selection, counts, { start: null, batches: firstBatches })
  if (start === null) return null
  const period = await findKnownPeriod(db, selection, Date.parse(start.created_at) + 1)
  if (period?.isCut) return timeOf(await countBatches(db, selection, counts, { start }))
  const rejected = selection.refused
    ? timeOf(await countBatches(db, { ...selection, generations: null }, counts, { start }))
    : null
  const served =
    period && (await countPeriods(db, { ...selection, refused: null }, { narrowing, period, start }, counts))
  return rejected !== null && (served === null || rejected > served) ? rejected : served
}

function timeOf(position: LogPosition | null): string | null {
  return position?.created_at ?? null
}

/** Counts the times behind a position that the roll-ups name. */
async function countPeriods(
  db: Db,
  selection: PeriodSelection,
  { narrowing, period, start }: { narrowing: Narrowing; period: Period; start: LogPosition },
  counts: BucketCounts,
): Promise<string | null> {
  const end = performance.now() + maxMs
  let reached = start.created_at
  try {
    for await (const found of listPeriods(db, selection.organizationId, narrowing, period)) {
      for (const part of found.periods) {
        if (performance.now() > end) return reached
        const [from, to] = [new Date(part.from).toISOString(), new Date(part.to).toISOString()]
        const last = await countBatches(db, { ...selection, from, to }, counts, { start })
        if (last !== null) return last.created_at
        reached = from
        await yieldToEventLoop()
      }
      reached = new Date(found.reached).toISOString()
    }
  } catch (error) {
    if (!(error instanceof RollupTimeoutError)) throw error
    return reached
  }
  return null
}

/** Counts what is behind `start`, and returns where the search ended; null if it covers the period. */
async function countBatches(
  db: Db,
  selection: PeriodSelection,
  counts: BucketCounts,
  { start = null, batches = maxBatches }: { start?: LogPosition | null; batches?: number } = {},
): Promise<LogPosition | null> {
  const end = performance.now() + maxMs
  let last: LogPosition | null = null
  let read = 0
  for await (const bounds of walkBatches(db, selection, start, batches)) {
    for (const part of counts.split(selection, bounds)) await countPart(db, part)
    last = bounds.until
    if (++read >= minBatches && performance.now() > end) break
  }
  return last
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
    .where(selectRange(db, selection, bounds, 'generations'))
    .where(buildCondition(selection, conditions))
    .executeTakeFirst()
}

function countRefused(db: Db, selection: LogSelection, bounds: Bounds, conditions: readonly Condition[]) {
  return db
    .selectFrom('refused_requests')
    .select(sql<number | string>`cast(coalesce(sum(requests), 0) as bigint)`.as('requests'))
    .where(selectRange(db, selection, bounds, 'refused_requests'))
    .where(buildCondition(selection, conditions))
    .executeTakeFirst()
}
