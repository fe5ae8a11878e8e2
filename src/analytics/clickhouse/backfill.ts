import { sql } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { utcDay } from '../../platform/time/time.ts'
import { readStepCount } from '../rollups/roll-up.ts'
import { findPreviousSlice } from '../rollups/slices.ts'
import { type ExportContext, sendGenerations } from './send.ts'
import { countExported, findStream, type Stream, updateStream } from './stream-store.ts'

const batchRows = 5000
/** By this much a clock may have gone back while a request was served. */
const toleranceMs = 3_600_000
const dayMs = 86_400_000
/** Before and after every time of settlement. */
const beginning = ''
const end = '9999'
/** Before every day: ClickHouse has all requests that ever were. */
const firstDay = '0000-01-01'

/**
 * Sends generations that were rolled up before the stream began, the newest first. Each batch moves the position, so
 * that an interruption repeats one batch at most. Returns false when there are no more.
 */
export async function backfillBatch({ db, client, now }: ExportContext): Promise<boolean> {
  const stream = await findStream(db)
  if (!stream || (stream.is_backfilled === 1 && stream.backfill_until === null)) return false
  const since = stream.backfill_until ?? beginning
  // Read before the rows: a later correction of them has a higher version.
  const version = Number(await readStepCount(db))
  const slice = await findPreviousSlice(db, since, stream.backfill_position ?? end, batchRows)
  if (!slice) {
    await completeBackfill(db, stream)
    return false
  }
  const rows = await readRolledUp(db, slice)
  await sendGenerations(client, rows, new Map(rows.map(({ id }) => [id, { version, moved_from: null }])))
  await countExported(db, rows.length, new Date(now).toISOString())
  await updateStream(db, stream.stream_id, {
    backfill_position: slice.from,
    ...(slice.from !== beginning && {
      covered_from: findEarlier(stream.covered_from, findCoveredDay(slice.from)),
    }),
  })
  return true
}

/** Those that are not rolled up yet will be queued, with what a correction has changed. */
function readRolledUp(db: Db, { from, to }: { from: string; to: string }) {
  return db
    .selectFrom('generations')
    .selectAll()
    .where('ended_at', '>', from)
    .where('ended_at', '<=', to)
    .where('id', 'not in', (eb) => eb.selectFrom('unrolled_generations').select('generation_id'))
    .execute()
}

/** The first day of which everything ended after a time. */
function findCoveredDay(endedAfter: string): string {
  return utcDay(Date.parse(endedAfter) + toleranceMs + dayMs)
}

function findEarlier(a: string | null, b: string): string {
  return a !== null && a < b ? a : b
}

/** If no generation was ever deleted, ClickHouse has all of them; otherwise the roll-ups have the days before. */
async function completeBackfill(db: Db, stream: Stream): Promise<void> {
  const covered = stream.is_backfilled === 1 ? null : await findFirstWholeDay(db)
  await updateStream(db, stream.stream_id, {
    is_backfilled: 1,
    backfill_until: null,
    covered_from: covered === null ? stream.covered_from : findEarlier(stream.covered_from, covered),
  })
}

/** Counts the first day that was rolled up: deletion by age begins there. */
async function findFirstWholeDay(db: Db): Promise<string | null> {
  const { rows } = await sql<{ day: string; size: number | string }>`
    select day, sum(size) as size from usage_segments where level = 'request'
    group by day order by day limit 1`.execute(db)
  const [first] = rows
  if (!first) return firstDay
  const nextDay = utcDay(Date.parse(first.day) + dayMs)
  const stored = await db
    .selectFrom('generations')
    .select((eb) => eb.fn.countAll<number | string>().as('count'))
    .where('ended_at', '>=', first.day)
    .where('ended_at', '<', utcDay(Date.parse(first.day) + 2 * dayMs))
    .where('created_at', '<', nextDay)
    .executeTakeFirstOrThrow()
  if (Number(first.size) <= Number(stored.count)) return firstDay
  const oldest = await db
    .selectFrom('generations')
    .select((eb) => eb.fn.min<string | null>('ended_at').as('ended_at'))
    .executeTakeFirst()
  return oldest?.ended_at ? findCoveredDay(oldest.ended_at) : null
}
