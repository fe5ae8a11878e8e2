import type { Insertable, Selectable, Updateable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { AuditDestinationTable } from '../platform/db/schema.ts'
import type { Lease } from './destination-states.ts'

export type AuditDestination = Selectable<AuditDestinationTable>

export async function listAuditDestinations(db: Db, organizationId: string): Promise<AuditDestination[]> {
  return db
    .selectFrom('audit_destinations')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

export async function findAuditDestination(db: Db, id: string): Promise<AuditDestination | undefined> {
  return db.selectFrom('audit_destinations').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function insertAuditDestination(
  tx: Db,
  row: Insertable<AuditDestinationTable>,
): Promise<AuditDestination> {
  return tx.insertInto('audit_destinations').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateAuditDestination(
  tx: Db,
  id: string,
  changes: Updateable<AuditDestinationTable>,
): Promise<AuditDestination> {
  return tx
    .updateTable('audit_destinations')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteAuditDestination(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('audit_destinations').where('id', '=', id).execute()
}

/** Lists destinations with entries to send that no node works on. */
export async function listDueAuditDestinations(db: Db, now: string, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('audit_destinations')
    .innerJoin('audit_chains', 'audit_chains.chain_id', 'audit_destinations.chain_id')
    .select('audit_destinations.id')
    .where('audit_destinations.enabled', '=', 1)
    .whereRef('audit_chains.seq', '>', 'audit_destinations.position')
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .where((eb) => eb.or([eb('retry_at', 'is', null), eb('retry_at', '<=', now)]))
    .orderBy('audit_destinations.id')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** Whether a destination has entries to send, due or not. */
export async function hasPendingAuditEntries(db: Db): Promise<boolean> {
  const row = await db
    .selectFrom('audit_destinations')
    .innerJoin('audit_chains', 'audit_chains.chain_id', 'audit_destinations.chain_id')
    .select('audit_destinations.id')
    .where('audit_destinations.enabled', '=', 1)
    .whereRef('audit_chains.seq', '>', 'audit_destinations.position')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** False if another node was faster. */
export async function takeAuditLease(db: Db, id: string, { owner, now, until }: Lease): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('audit_destinations')
    .set({ lease_owner: owner, lease_until: until })
    .where('id', '=', id)
    .where((eb) => eb.or([eb('lease_until', 'is', null), eb('lease_until', '<', now)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Updates a leased destination; has no effect if another node has taken the lease. */
export async function updateHeldAuditDestination(
  db: Db,
  id: string,
  owner: string,
  changes: Updateable<AuditDestinationTable>,
): Promise<void> {
  await db
    .updateTable('audit_destinations')
    .set(changes)
    .where('id', '=', id)
    .where('lease_owner', '=', owner)
    .execute()
}

/** Releases all leases, for a process that has just started and is the only one. */
export async function releaseAuditLeases(db: Db): Promise<void> {
  await db.updateTable('audit_destinations').set({ lease_owner: null, lease_until: null }).execute()
}
