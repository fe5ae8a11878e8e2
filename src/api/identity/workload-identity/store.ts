import type { Selectable, Updateable } from 'kysely'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { WorkloadIssuerTable, WorkloadPolicyTable } from '../../../platform/db/schema.ts'
import { decodeList } from '../../../platform/db/values.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type Issuer = Selectable<WorkloadIssuerTable>
export type Policy = Selectable<WorkloadPolicyTable>

export function algorithmsOf({ algorithms }: Issuer): string[] {
  return decodeList<string>(algorithms) ?? []
}

export async function insertIssuer(tx: Db, issuer: Issuer): Promise<void> {
  await tx.insertInto('workload_issuers').values(issuer).execute()
}

export async function listIssuers(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<Issuer>> {
  const all = db.selectFrom('workload_issuers').selectAll().where('organization_id', '=', organizationId)
  return fetchPage(all, page)
}

export async function findIssuer(db: Db, organizationId: string, id: string): Promise<Issuer | undefined> {
  return db
    .selectFrom('workload_issuers')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** Locked until the transaction ends, so that no policy is created for an issuer that is being deleted. */
export async function lockIssuer(tx: Db, organizationId: string, id: string): Promise<Issuer | undefined> {
  return tx
    .updateTable('workload_issuers')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export async function updateIssuer(
  tx: Db,
  id: string,
  changes: Updateable<WorkloadIssuerTable>,
): Promise<Issuer> {
  return tx
    .updateTable('workload_issuers')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteIssuer(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('workload_issuers').where('id', '=', id).execute()
}

export async function hasPolicies(tx: Db, issuerId: string): Promise<boolean> {
  const found = tx.selectFrom('workload_policies').select('id').where('issuer_id', '=', issuerId)
  return (await found.limit(1).executeTakeFirst()) !== undefined
}

export async function insertPolicy(tx: Db, policy: Policy): Promise<void> {
  await tx.insertInto('workload_policies').values(policy).execute()
}

export async function listPolicies(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<Policy>> {
  const all = db.selectFrom('workload_policies').selectAll().where('organization_id', '=', organizationId)
  return fetchPage(all, page)
}

export async function findPolicy(db: Db, organizationId: string, id: string): Promise<Policy | undefined> {
  return db
    .selectFrom('workload_policies')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function lockPolicy(tx: Db, organizationId: string, id: string): Promise<Policy | undefined> {
  return tx
    .updateTable('workload_policies')
    .set((eb) => ({ updated_at: eb.ref('updated_at') }))
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

export async function updatePolicy(
  tx: Db,
  id: string,
  changes: Updateable<WorkloadPolicyTable>,
): Promise<Policy> {
  return tx
    .updateTable('workload_policies')
    .set(changes)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deletePolicy(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('workload_policies').where('id', '=', id).execute()
}

/** Finds the policy of an exchange, whose caller belongs to no organization yet. */
export async function findExchangePolicy(
  db: Db,
  id: string,
): Promise<{ policy: Policy; issuer: Issuer } | undefined> {
  const policy = await db.selectFrom('workload_policies').selectAll().where('id', '=', id).executeTakeFirst()
  const issuer = policy && (await findIssuer(db, policy.organization_id, policy.issuer_id))
  return issuer && { policy, issuer }
}
