import type { Db } from '../../db/db.ts'
import { usdFromNanos } from '../../ledger/money.ts'
import { buildCondition, type LogSelection } from './selection.ts'
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
  /** Where the search ended; null if it covers the period. */
  searchedTo: string | null
}

type Count = 'completed' | 'failed' | 'cancelled' | 'refused'

interface Counted {
  created_at: string
  status: Count
  requests: number
  cost_nanos: bigint
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
    for (const { created_at, status, requests, cost_nanos } of await readCounted(db, selection, bounds)) {
      const total = totals[Math.floor((Date.parse(created_at) - from) / widthMs)]
      if (!total) continue
      total[status] += requests
      total.cost += cost_nanos
    }
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

async function readCounted(db: Db, selection: LogSelection, bounds: Bounds): Promise<Counted[]> {
  const { generations, refused } = selection
  const [served, rejected] = await Promise.all([
    generations
      ? db
          .selectFrom('generations')
          .select(['created_at', 'status', 'cost_nanos'])
          .where(selectRange(selection, bounds, 'generations'))
          .where(buildCondition(selection, generations))
          .execute()
      : [],
    refused
      ? db
          .selectFrom('refused_requests')
          .select(['created_at', 'requests'])
          .where(selectRange(selection, bounds, 'refused_requests'))
          .where(buildCondition(selection, refused))
          .execute()
      : [],
  ])
  return [
    ...served.map((row) => ({ ...row, requests: 1 })),
    ...rejected.map((row) => ({ ...row, status: 'refused' as const, cost_nanos: 0n })),
  ]
}
