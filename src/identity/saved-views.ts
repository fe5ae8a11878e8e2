import type { Db } from '../platform/db/db.ts'

/** Deletes the private views of a member. Shared ones stay. */
export async function deletePrivateViews(tx: Db, creator: string): Promise<void> {
  await tx
    .deleteFrom('saved_views')
    .where('creator', '=', creator)
    .where('visibility', '=', 'private')
    .execute()
}
