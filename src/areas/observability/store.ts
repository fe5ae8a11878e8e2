import { createSoftDeleteStore } from '../../account/soft-delete.ts'
import type { Db } from '../../db/db.ts'

export const destinations = createSoftDeleteStore('destinations', {
  wipe: { enabled: 0, sealed_secrets: '', secrets_origin: null },
})

export async function countDestinations(db: Db, workspaceId: string, type: string): Promise<number> {
  const { count } = await db
    .selectFrom('destinations')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', workspaceId)
    .where('type', '=', type)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow()
  return count
}
