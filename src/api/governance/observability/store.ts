import type { Caller } from '../../../access/caller.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import { assertReachable } from '../../../identity/placed-records.ts'
import { createSoftDeleteStore } from '../../../identity/soft-delete.ts'
import type { Db } from '../../../platform/db/db.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
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

/** A request that names a destination. */
interface DestinationRequest {
  caller: Caller
  scope: Scope
  params: { id: string }
}

export async function requireDestination(db: Db, request: DestinationRequest): Promise<DestinationRow> {
  const { caller, params } = request
  const row = await destinations.find(db, caller.organizationId, params.id)
  return assertReachable(request.scope, row, 'destination')
}

export async function lockDestination(tx: Db, request: DestinationRequest): Promise<DestinationRow> {
  const { caller, params } = request
  const row = await destinations.lock(tx, caller.organizationId, params.id)
  return assertReachable(request.scope, row, 'destination')
}

/** The target of an event. */
export function describeDestination({ id, name, type, workspace_id: workspaceId }: DestinationRow) {
  return { target: { type: 'destination', id, name: name ?? type }, workspaceId }
}

export function destinationNotFoundError() {
  return gatewayError('not_found', 'The destination does not exist.')
}
