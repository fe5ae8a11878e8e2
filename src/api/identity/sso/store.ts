import type { Insertable, Selectable, Updateable } from 'kysely'
import { endSessions } from '../../../identity/sessions.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { listMappings, type SsoMapping } from '../../../identity/sso-connections.ts'
import type { SsoIdentity } from '../../../identity/sso-identities.ts'
import { newUuid } from '../../../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { SsoConnectionTable, SsoDomainTable } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type SsoDomain = Selectable<SsoDomainTable>

export async function listConnections(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<SsoConnection>> {
  const all = db.selectFrom('sso_connections').where('organization_id', '=', organizationId)
  return fetchPage(all.selectAll(), page)
}

export async function insertConnection(tx: Db, row: Insertable<SsoConnectionTable>): Promise<SsoConnection> {
  return tx.insertInto('sso_connections').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateConnection(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Updateable<SsoConnectionTable>,
): Promise<SsoConnection> {
  return tx
    .updateTable('sso_connections')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteConnection(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('sso_connections').where('id', '=', id).execute()
}

export async function hasConnection(db: Db, organizationId: string, exceptId = ''): Promise<boolean> {
  const row = await db
    .selectFrom('sso_connections')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', '!=', exceptId)
    .executeTakeFirst()
  return row !== undefined
}

export type NewMapping = Pick<SsoMapping, 'claim' | 'value' | 'workspace_id' | 'role'>

const rowsPerStatement = 100

/** Mappings that stay keep their members. */
export async function replaceMappings(
  tx: Db,
  { id, organization_id }: SsoConnection,
  mappings: NewMapping[],
): Promise<void> {
  const wanted = new Map(mappings.map((mapping) => [keyOf(mapping), mapping]))
  for (const mapping of await listMappings(tx, [id])) {
    if (!wanted.delete(keyOf(mapping))) {
      await tx.deleteFrom('sso_mappings').where('id', '=', mapping.id).execute()
    }
  }
  const rows = [...wanted.values()].map((mapping) => ({
    ...mapping,
    id: newUuid(),
    organization_id,
    connection_id: id,
  }))
  for (let start = 0; start < rows.length; start += rowsPerStatement) {
    await tx
      .insertInto('sso_mappings')
      .values(rows.slice(start, start + rowsPerStatement))
      .execute()
  }
}

function keyOf({ claim, value, workspace_id, role }: NewMapping): string {
  return JSON.stringify([claim, value, workspace_id, role])
}

/** The given ids that are workspaces of the organization. */
export async function listWorkspaceIds(db: Db, organizationId: string, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const rows = await db
    .selectFrom('workspaces')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
    .where('id', 'in', ids)
    .execute()
  return rows.map(({ id }) => id)
}

export async function listDomains(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<SsoDomain>> {
  const all = db.selectFrom('sso_domains').where('organization_id', '=', organizationId)
  return fetchPage(all.selectAll(), page)
}

export async function hasVerifiedDomain(db: Db, organizationId: string): Promise<boolean> {
  const row = await db
    .selectFrom('sso_domains')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('verified_at', 'is not', null)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertDomain(tx: Db, row: SsoDomain): Promise<SsoDomain> {
  try {
    return await tx.insertInto('sso_domains').values(row).returningAll().executeTakeFirstOrThrow()
  } catch (error) {
    if (isUniqueViolation(error))
      throw gatewayError('conflict', 'domain: the organization has this domain already.')
    throw error
  }
}

export async function findDomain(db: Db, organizationId: string, id: string): Promise<SsoDomain | undefined> {
  return db
    .selectFrom('sso_domains')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function deleteDomain(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('sso_domains').where('id', '=', id).execute()
}

export async function listIdentities(
  db: Db,
  organizationId: string,
  userId: string | undefined,
  page: Pagination,
): Promise<RowPage<SsoIdentity>> {
  const all = db.selectFrom('sso_identities').where('organization_id', '=', organizationId)
  const some = userId === undefined ? all : all.where('user_id', '=', userId)
  return fetchPage(some.selectAll(), page)
}

export async function deleteIdentity(
  tx: Db,
  organizationId: string,
  id: string,
): Promise<SsoIdentity | undefined> {
  return tx
    .deleteFrom('sso_identities')
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Sessions that a person of a provider started. */
export async function deleteIdentitySessions(
  tx: Db,
  { issuer, subject, user_id }: SsoIdentity,
): Promise<void> {
  const ended = tx
    .selectFrom('sso_sessions')
    .select('token_hash')
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
  await endSessions(tx, 'revoked', (query) =>
    query.where('user_id', '=', user_id).where('token_hash', 'in', ended),
  )
}
