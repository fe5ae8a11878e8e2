import type { Db } from '../platform/db/db.ts'

/** Deletes the views that nobody could open any more. Those that are shared stay. */
export async function deletePrivateViews(tx: Db, creator: string): Promise<void> {
  await tx
    .deleteFrom('saved_views')
    .where('creator', '=', creator)
    .where('visibility', '=', 'private')
    .execute()
}
