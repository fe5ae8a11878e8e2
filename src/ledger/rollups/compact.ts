import type { Db } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { utcDay } from '../../lib/time.ts'
import { rolledLevels } from './levels.ts'
import { collapse, join } from './segment.ts'
import {
  deleteSegments,
  insertSegments,
  loadSegments,
  type SegmentRow,
  scatteredDays,
  segmentsOfDay,
} from './segments.ts'

/** How long after its end a day is put in order: hardly anything comes later. */
const settledMs = 2 * 3_600_000
/** A few pieces that came late are no reason to write a day anew. */
const fewest = 4
const largest = 65_536

/** Makes few large segments of the many small ones that a day leaves behind. */
export async function compact({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const day = utcDay(clock.now() - settledMs)
  for (const scattered of await scatteredDays(db, day, { fewest, largest })) {
    for (const some of batches(await segmentsOfDay(db, scattered, largest))) await replace(db, some)
  }
}

/** Of about the largest size each. */
function batches(rows: readonly SegmentRow[]): SegmentRow[][] {
  const found: SegmentRow[][] = []
  let size = 0
  for (const row of rows) {
    const last = found.at(-1)
    if (last && size + row.size <= largest) last.push(row)
    else found.push([row])
    size = found.at(-1)?.length === 1 ? row.size : size + row.size
  }
  return found.filter((batch) => batch.length > 1)
}

class ReplacedError extends Error {}

/** Another process may be doing the same: one of the two finds the segments gone, and leaves everything as it is. */
async function replace(db: Db, rows: SegmentRow[]): Promise<void> {
  const [first] = rows
  const segments = await loadSegments(db, rows, null)
  if (!first || !segments) return
  const { organization_id: organizationId, level } = first
  const joined = await join(segments)
  const segment = level === 'request' ? joined : collapse(joined, rolledLevels[level])
  const ids = rows.map(({ id }) => id)
  try {
    await db.transaction().execute(async (tx) => {
      if (!(await deleteSegments(tx, ids))) throw new ReplacedError()
      await insertSegments(tx, [{ organizationId, level, segment }])
    })
  } catch (error) {
    if (!(error instanceof ReplacedError)) throw error
  }
}
