import type { Db } from '../platform/db/db.ts'

/** Counts the nodes that have sent a heartbeat since. */
export async function countNodes(db: Db, seenSince: string): Promise<number> {
  const { count } = await db
    .selectFrom('nodes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('seen_at', '>', seenSince)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** The time of the last heartbeat of a node; null if there is none. */
export async function findHeartbeat(db: Db, id: string): Promise<number | null> {
  const row = await db.selectFrom('nodes').select('seen_at').where('id', '=', id).executeTakeFirst()
  return row ? Date.parse(row.seen_at) : null
}
