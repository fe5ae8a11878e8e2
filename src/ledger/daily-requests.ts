import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'

interface DailyLimit {
  /** The limit; each has a count of its own. */
  name: string
  perDay: number
}

/**
 * Counts one request of an organization in a UTC day; false beyond the limit. The count is in the database, so that
 * all nodes share it and it outlives them.
 */
export async function countDailyRequest(
  db: Db,
  organizationId: string,
  { name, perDay }: DailyLimit,
  day: string,
): Promise<boolean> {
  const row = await db
    .insertInto('daily_requests')
    .values({ organization_id: organizationId, name, day, requests: 1 })
    .onConflict((conflict) =>
      conflict
        .columns(['organization_id', 'name', 'day'])
        .doUpdateSet({ requests: sql<number>`daily_requests.requests + 1` })
        .where('daily_requests.requests', '<', perDay),
    )
    .returning('requests')
    .executeTakeFirst()
  if (row?.requests === 1) await deleteEarlierDays(db, organizationId, day)
  return row !== undefined
}

async function deleteEarlierDays(db: Db, organizationId: string, day: string): Promise<void> {
  await db
    .deleteFrom('daily_requests')
    .where('organization_id', '=', organizationId)
    .where('day', '<', day)
    .execute()
}
