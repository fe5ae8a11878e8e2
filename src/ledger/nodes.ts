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
