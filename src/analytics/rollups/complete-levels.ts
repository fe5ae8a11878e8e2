import type { Db } from '../../platform/db/db.ts'
import type { Clock } from '../../platform/time/clock.ts'
import { utcDay } from '../../platform/time/time.ts'
import { selectComplete } from './level-rows.ts'
import { type RollupLevel, rollupLevelNames, rollupLevels } from './levels.ts'
import { advanceStep, readStepCount } from './roll-up.ts'
import { aggregateSegment, mergeSegments } from './segment.ts'
import {
  findDaysWithout,
  listSegments,
  loadSegments,
  replaceSegments,
  type SegmentRow,
} from './segment-store.ts'

const dayMs = 86_400_000
/** Days that most queries read. */
const maxAgeDays = 32

/** Adds the levels that did not exist yet when a day was rolled up. Queries read larger ones until then. */
export async function completeLevels({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  const first = utcDay(clock.now() - maxAgeDays * dayMs)
  for (const level of rollupLevelNames)
    for (const { organization_id, day } of await findDaysWithout(db, level, first, utcDay(clock.now())))
      await completeLevel(db, organization_id, level, day)
}

/** Adds a level, unless the roll-ups changed meanwhile: then the next run does it. */
async function completeLevel(db: Db, organizationId: string, level: RollupLevel, day: string): Promise<void> {
  const steps = await readStepCount(db)
  const { segments } = await listSegments(db, { organizationId, fromDay: day, toDay: day })
  const requestRows = segments.filter((row) => row.level === 'request')
  if (selectComplete(segments).some((complete) => complete.level === level)) return
  const segment = await aggregateRows(db, level, requestRows)
  if (!segment) return
  const requests = requestRows.reduce((sum, { size }) => sum + size, 0)
  const partial = segments.filter((row) => row.level === level)
  const replacement = { organizationId, level, segment, requests }
  await replaceSegments(db, partial, replacement, (tx) => advanceStep(tx, steps))
}

async function aggregateRows(db: Db, level: RollupLevel, rows: readonly SegmentRow[]) {
  const loaded = rows.length === 0 ? undefined : await loadSegments(db, rows, null)
  if (!loaded) return undefined
  const sums = loaded.map((segment) => aggregateSegment(segment, rollupLevels[level]))
  return aggregateSegment(await mergeSegments(sums), rollupLevels[level])
}
