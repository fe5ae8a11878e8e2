import { sql } from 'kysely'
import { type Db, isPostgres } from '../../db/db.ts'
import type { Clock } from '../../lib/clock.ts'
import { utcDay } from '../../lib/time.ts'
import { compactEntries } from '../compaction.ts'
import { compact } from './compact.ts'
import { deleteSegments, segmentsBefore } from './segments.ts'

const dayMs = 86_400_000
/** Few enough that nobody who waits for the database notices. */
const rowsAtOnce = 500
/** Questions about single requests reach back a year; the roll-up by day stays. */
const segmentDays = 400

export interface Parts {
  db: Db
  clock: Clock
}

/** How many days generations are kept, and charges are posted one by one; null: for ever. */
export interface Ages {
  retentionDays: number | null
  postingDays: number | null
}

/** No hurry: what makes queries faster, and what nobody needs any more. */
export async function tidyRecords(parts: Parts, { retentionDays, postingDays }: Ages): Promise<void> {
  await compact(parts)
  await dropOldGenerations(parts, retentionDays)
  await dropOldSegments(parts)
  if (postingDays !== null) await compactEntries(parts.db, daysAgo(parts.clock, postingDays))
  // PostgreSQL looks after its statistics by itself.
  if (!isPostgres(parts.db)) await sql`pragma optimize`.execute(parts.db)
}

/** Deletes generations older than this many days, once they are rolled up, with what belongs to them. */
export async function dropOldGenerations({ db, clock }: Parts, days: number | null): Promise<number> {
  if (days === null) return 0
  const cutoff = daysAgo(clock, days)
  const unrolled = await firstUnrolledEnd(db)
  const until = unrolled === null || cutoff < unrolled ? cutoff : unrolled
  for (let dropped = 0; ; ) {
    const ids = await endedBefore(db, until)
    if (ids.length === 0) return dropped
    await db.transaction().execute((tx) => dropGenerations(tx, ids))
    dropped += ids.length
  }
}

function daysAgo(clock: Clock, days: number): string {
  return new Date(clock.now() - days * dayMs).toISOString()
}

/** Null when all are rolled up. */
async function firstUnrolledEnd(db: Db): Promise<string | null> {
  const row = await db
    .selectFrom('unrolled_generations')
    .innerJoin('generations', 'generations.id', 'generation_id')
    .select((eb) => eb.fn.min<string | null>('ended_at').as('first'))
    .executeTakeFirst()
  return row?.first ?? null
}

async function endedBefore(db: Db, until: string): Promise<string[]> {
  const rows = await db
    .selectFrom('generations')
    .select('id')
    .where('ended_at', '<', until)
    .orderBy('ended_at')
    .limit(rowsAtOnce)
    .execute()
  return rows.map(({ id }) => id)
}

async function dropGenerations(tx: Db, ids: string[]): Promise<void> {
  await tx.deleteFrom('generation_feedback').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generation_contents').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('corrections').where('generation_id', 'in', ids).execute()
  await tx.deleteFrom('generations').where('id', 'in', ids).execute()
}

/** Deletes the roll-ups of single requests that nobody can ask for any more. */
export async function dropOldSegments({ db, clock }: Parts): Promise<void> {
  const day = utcDay(clock.now() - segmentDays * dayMs)
  for (;;) {
    const ids = await segmentsBefore(db, 'request', day, rowsAtOnce)
    if (ids.length === 0) return
    await db.transaction().execute((tx) => deleteSegments(tx, ids))
  }
}
