import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { utcDay } from '../../platform/time/time.ts'
import { sumRequests } from './level-rows.ts'
import { rollupLevels } from './levels.ts'
import { aggregateSegment, mergeSegments } from './segment.ts'
import {
  findFragmentedDays,
  findSegmentsOfDay,
  loadSegments,
  replaceSegments,
  type SegmentRow,
} from './segment-store.ts'

/** Delay between the end of a day and its compaction: hardly any request is recorded later. */
const settleDelayMs = 2 * 3_600_000
/** A few late segments do not justify rewriting a day. */
const minSegments = 4
const maxSegmentRows = 65_536

/** Merges the many small segments of a day into few large ones. */
export async function compactSegments({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const day = utcDay(clock.now() - settleDelayMs)
  for (const scattered of await findFragmentedDays(db, day, { minSegments, maxRows: maxSegmentRows })) {
    for (const some of splitBatches(await findSegmentsOfDay(db, scattered, maxSegmentRows)))
      await mergeRows(db, some)
  }
}

/** Each of about the maximum size. */
function splitBatches(rows: readonly SegmentRow[]): SegmentRow[][] {
  const batches: SegmentRow[][] = []
  let size = 0
  for (const row of rows) {
    const last = batches.at(-1)
    if (last && size + row.size <= maxSegmentRows) last.push(row)
    else batches.push([row])
    size = batches.at(-1)?.length === 1 ? row.size : size + row.size
  }
  return batches.filter((batch) => batch.length > 1)
}

async function mergeRows(db: Db, rows: SegmentRow[]): Promise<void> {
  const [first] = rows
  const segments = await loadSegments(db, rows, null)
  if (!first || !segments) return
  const { organization_id: organizationId, level } = first
  const joined = await mergeSegments(segments)
  const segment = level === 'request' ? joined : aggregateSegment(joined, rollupLevels[level])
  await replaceSegments(db, rows, { organizationId, level, segment, requests: sumRequests(rows) })
}
