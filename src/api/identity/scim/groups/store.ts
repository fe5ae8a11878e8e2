import { type Expression, type Selectable, type SqlBool, sql } from 'kysely'
import { splitIntoChunks } from '../../../../identity/scim-grants.ts'
import { newUuid, uuidPattern } from '../../../../platform/crypto/ids.ts'
import type { Db } from '../../../../platform/db/db.ts'
import { fetchPage } from '../../../../platform/db/page.ts'
import type { ScimGroupTable } from '../../../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../../../platform/time/clock.ts'
import type { Pagination } from '../../../../platform/validation/query-params.ts'
import type { FilterableFields, Term } from '../filter.ts'

export type GroupRow = Selectable<ScimGroupTable>

export interface GroupMember {
  group_id: string
  scim_user_id: string
  user_name: string
}

export const groupFields: FilterableFields = new Map([
  ['id', 'exact'],
  ['externalid', 'exact'],
  ['displayname', 'exact'],
  ['members.value', 'exact'],
])

const rowsPerStatement = 500

function selectGroups(db: Db, organizationId: string, branches: Term[][] | null = null) {
  const all = db.selectFrom('scim_groups').selectAll().where('organization_id', '=', organizationId)
  if (!branches) return all
  return all.where((eb) => eb.or(branches.map((terms) => eb.and(terms.map(buildCondition)))))
}

function buildCondition({ path, value }: Term): Expression<SqlBool> {
  const text = String(value)
  if (path === 'id') return sql`scim_groups.id = ${text}`
  if (path === 'externalid') return sql`scim_groups.external_id = ${text}`
  if (path === 'displayname') return sql`lower(scim_groups.display_name) = ${text.toLowerCase()}`
  return sql`exists (select 1 from scim_group_members as entry
    where entry.group_id = scim_groups.id and entry.scim_user_id = ${text})`
}

export async function listGroups(
  db: Db,
  organizationId: string,
  branches: Term[][] | null,
  page: Pagination,
): Promise<{ rows: GroupRow[]; total: number }> {
  return fetchPage(selectGroups(db, organizationId, await resolveNames(db, organizationId, branches)), page)
}

/** Lists groups in the order of `listGroups`; for filters that SQL cannot express. */
export async function listFirstGroups(
  db: Db,
  organizationId: string,
  branches: Term[][] | null,
  limit: number,
): Promise<GroupRow[]> {
  const resolved = await resolveNames(db, organizationId, branches)
  return selectGroups(db, organizationId, resolved).orderBy('created_at').orderBy('id').limit(limit).execute()
}

/** The databases lower-case non-ASCII letters differently: such names are compared here. */
async function resolveNames(
  db: Db,
  organizationId: string,
  branches: Term[][] | null,
): Promise<Term[][] | null> {
  const isNonAscii = ({ path, value }: Term) => path === 'displayname' && !isAscii(String(value))
  if (!branches?.flat().some(isNonAscii)) return branches
  const names = await db
    .selectFrom('scim_groups')
    .select(['id', 'display_name'])
    .where('organization_id', '=', organizationId)
    .execute()
  const ids = new Map(names.map((group) => [group.display_name.toLowerCase(), group.id]))
  const idOf = ({ value }: Term) => ids.get(String(value).toLowerCase()) ?? ''
  return branches.map((terms) =>
    terms.map((term) => (isNonAscii(term) ? { path: 'id', value: idOf(term) } : term)),
  )
}

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text)
}

export async function findGroup(db: Db, organizationId: string, id: string): Promise<GroupRow | undefined> {
  if (!uuidPattern.test(id)) return undefined
  return selectGroups(db, organizationId).where('id', '=', id).executeTakeFirst()
}

export async function findGroupByName(
  db: Db,
  organizationId: string,
  displayName: string,
): Promise<GroupRow | undefined> {
  const [group] = await listFirstGroups(
    db,
    organizationId,
    [[{ path: 'displayname', value: displayName }]],
    1,
  )
  return group
}

export async function insertGroup(
  tx: Db,
  clock: Clock,
  input: Pick<GroupRow, 'organization_id' | 'display_name' | 'external_id'>,
): Promise<GroupRow> {
  const now = isoNow(clock)
  const { organization_id, display_name, external_id } = input
  const group = {
    id: newUuid(),
    organization_id,
    display_name,
    external_id,
    created_at: now,
    updated_at: now,
  }
  await tx.insertInto('scim_groups').values(group).execute()
  return group
}

export async function updateGroup(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Partial<Pick<GroupRow, 'display_name' | 'external_id'>>,
): Promise<GroupRow> {
  return tx
    .updateTable('scim_groups')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a group; its members and mappings are deleted with it. */
export async function deleteGroup(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('scim_groups').where('id', '=', id).execute()
}

export async function countMembers(db: Db, groupIds: string[]): Promise<number> {
  if (groupIds.length === 0) return 0
  const { count } = await db
    .selectFrom('scim_group_members')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('group_id', 'in', groupIds)
    .executeTakeFirstOrThrow()
  return count
}

/** The members of each group, by group id. */
export async function listMembersByGroup(db: Db, groupIds: string[]): Promise<Map<string, GroupMember[]>> {
  if (groupIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('scim_group_members as entry')
    .innerJoin('scim_users', 'scim_users.id', 'entry.scim_user_id')
    .select(['entry.group_id', 'entry.scim_user_id', 'scim_users.user_name'])
    .where('entry.group_id', 'in', groupIds)
    .orderBy('scim_users.user_name')
    .execute()
  return Map.groupBy(rows, (row) => row.group_id)
}

/** The member ids of SCIM users of this organization, by SCIM user id. */
export async function findMemberIds(
  db: Db,
  organizationId: string,
  scimUserIds: string[],
): Promise<Map<string, string>> {
  const people = new Map<string, string>()
  for (const ids of splitIntoChunks(scimUserIds, rowsPerStatement)) {
    const rows = await db
      .selectFrom('scim_users')
      .select(['id', 'user_id'])
      .where('organization_id', '=', organizationId)
      .where('id', 'in', ids)
      .execute()
    for (const row of rows) people.set(row.id, row.user_id)
  }
  return people
}

export async function listScimUserIds(db: Db, groupId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('scim_group_members')
    .select('scim_user_id')
    .where('group_id', '=', groupId)
    .execute()
  return rows.map((row) => row.scim_user_id)
}

/** The given SCIM users who are in the group. */
export async function filterGroupMembers(
  db: Db,
  groupId: string,
  scimUserIds: string[],
): Promise<ReadonlySet<string>> {
  const known = new Set<string>()
  for (const ids of splitIntoChunks(scimUserIds, rowsPerStatement)) {
    const rows = await db
      .selectFrom('scim_group_members')
      .select('scim_user_id')
      .where('group_id', '=', groupId)
      .where('scim_user_id', 'in', ids)
      .execute()
    for (const row of rows) known.add(row.scim_user_id)
  }
  return known
}

export async function addToGroup(tx: Db, groupId: string, scimUserIds: string[]): Promise<void> {
  for (const ids of splitIntoChunks(scimUserIds, rowsPerStatement)) {
    await tx
      .insertInto('scim_group_members')
      .values(ids.map((id) => ({ group_id: groupId, scim_user_id: id })))
      .onConflict((conflict) => conflict.doNothing())
      .execute()
  }
}

export async function removeFromGroup(tx: Db, groupId: string, scimUserIds: string[]): Promise<void> {
  for (const ids of splitIntoChunks(scimUserIds, rowsPerStatement)) {
    await tx
      .deleteFrom('scim_group_members')
      .where('group_id', '=', groupId)
      .where('scim_user_id', 'in', ids)
      .execute()
  }
}

/** The workspaces that the group's mappings grant access to. */
export async function listMappedWorkspaces(db: Db, groupId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('scim_group_mappings')
    .select('workspace_id')
    .where('scim_group_id', '=', groupId)
    .execute()
  return rows.map((row) => row.workspace_id)
}
