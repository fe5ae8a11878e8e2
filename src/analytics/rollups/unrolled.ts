import type { Db } from '../../platform/db/db.ts'

/** A smaller segment is not worth writing. */
export const minSegmentRows = 2000

/** Whether this many generations wait to be rolled up. */
export async function hasUnrolled(db: Db, count: number): Promise<boolean> {
  const row = await db
    .selectFrom('unrolled_generations')
    .select('generation_id')
    .orderBy('generation_id')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
