import { createSoftDeleteStore } from '../../account/soft-delete.ts'
import type { Db } from '../../db/db.ts'
import { gatewayError } from '../../errors/gateway-error.ts'
import type { DestinationRow } from './record.ts'

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

export async function requireDestination(
  db: Db,
  organizationId: string,
  id: string,
): Promise<DestinationRow> {
  const row = await destinations.find(db, organizationId, id)
  if (!row) throw destinationNotFoundError()
  return row
}

export function destinationNotFoundError() {
  return gatewayError('not_found', 'The destination does not exist.')
}
