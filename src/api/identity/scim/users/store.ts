import { type Expression, type SqlBool, sql } from 'kysely'
import { splitIntoChunks } from '../../../../identity/scim-grants.ts'
import { newUuid, uuidPattern } from '../../../../platform/crypto/ids.ts'
import type { Db } from '../../../../platform/db/db.ts'
import { fetchPage } from '../../../../platform/db/page.ts'
import type { Flag } from '../../../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../../../platform/time/clock.ts'
import type { Pagination } from '../../../../platform/validation/query-params.ts'
import type { FilterableFields, Term } from '../filter.ts'

/** A SCIM user together with its member. */
export interface UserRow {
  id: string
  user_id: string
  user_name: string
  external_id: string | null
  resource: string
  created_at: string
  updated_at: string
  email: string
  first_name: string | null
  last_name: string | null
  active: Flag
}

/** A user request converted to columns. */
export interface UserInput {
  userName: string
  externalId: string | null
  /** Address in lower case; undefined if the request has none. */
  email: string | undefined
  firstName: string | null
  lastName: string | null
  /** Undefined: unchanged. */
  active: boolean | undefined
  /** The attributes that have no column, as JSON. */
  resource: string
}

export interface UserGroup {
  scim_user_id: string
  group_id: string
  display_name: string
}

/** Fields of filters. Only the primary e-mail has a column; the others are matched in the stored JSON. */
export const userFields: FilterableFields = new Map([
  ['id', 'exact'],
  ['externalid', 'exact'],
  ['username', 'exact'],
  ['active', 'exact'],
  ['emails.value', 'narrowing'],
])

function selectUsers(db: Db, organizationId: string, branches: Term[][] | null) {
  const all = db
    .selectFrom('scim_users')
    .innerJoin('members', 'members.id', 'scim_users.user_id')
    .selectAll('scim_users')
    .select(['members.email', 'members.first_name', 'members.last_name', 'members.active'])
    .where('scim_users.organization_id', '=', organizationId)
  if (!branches) return all
  return all.where((eb) => eb.or(branches.map((terms) => eb.and(terms.map(buildCondition)))))
}

const activeFlags = new Map([
  ['true', 1],
  ['false', 0],
])
/** Matches no row: the value is not a boolean. */
const noFlag = -1

function buildCondition({ path, value }: Term): Expression<SqlBool> {
  if (path === 'active')
    return sql`members.active = ${activeFlags.get(String(value).toLowerCase()) ?? noFlag}`
  if (path === 'username') return sql`scim_users.user_name = ${String(value).toLowerCase()}`
  if (path === 'externalid') return sql`scim_users.external_id = ${String(value)}`
  if (path === 'id') return sql`scim_users.id = ${String(value)}`
  const address = String(value).toLowerCase()
  return sql`(members.email = ${address} or lower(scim_users.resource) like ${toLikePattern(address)} escape '!')`
}

/** A LIKE pattern that matches the text inside JSON. */
function toLikePattern(text: string): string {
  return `%${JSON.stringify(text).slice(1, -1).replace(/[!%_]/g, '!$&')}%`
}

const userOrder = ['scim_users.created_at', 'scim_users.id']

export async function listUsers(
  db: Db,
  organizationId: string,
  branches: Term[][] | null,
  page: Pagination,
): Promise<{ rows: UserRow[]; total: number }> {
  return fetchPage(selectUsers(db, organizationId, branches), page, userOrder)
}

/** Lists users in the order of `listUsers`; for filters that SQL cannot express. */
export async function listFirstUsers(
  db: Db,
  organizationId: string,
  branches: Term[][] | null,
  limit: number,
): Promise<UserRow[]> {
  return selectUsers(db, organizationId, branches)
    .orderBy('scim_users.created_at')
    .orderBy('scim_users.id')
    .limit(limit)
    .execute()
}

export async function findUser(db: Db, organizationId: string, id: string): Promise<UserRow | undefined> {
  if (!uuidPattern.test(id)) return undefined
  return selectUsers(db, organizationId, [[{ path: 'id', value: id }]]).executeTakeFirst()
}

export async function findUserByName(
  db: Db,
  organizationId: string,
  userName: string,
): Promise<UserRow | undefined> {
  return selectUsers(db, organizationId, [[{ path: 'username', value: userName }]]).executeTakeFirst()
}

export async function isLinked(db: Db, memberId: string): Promise<boolean> {
  const row = await db
    .selectFrom('scim_users')
    .select('id')
    .where('user_id', '=', memberId)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertUser(
  tx: Db,
  clock: Clock,
  organizationId: string,
  memberId: string,
  input: UserInput,
): Promise<string> {
  const id = newUuid()
  const now = isoNow(clock)
  await tx
    .insertInto('scim_users')
    .values({
      id,
      organization_id: organizationId,
      user_id: memberId,
      user_name: input.userName.toLowerCase(),
      external_id: input.externalId,
      resource: input.resource,
      created_at: now,
      updated_at: now,
    })
    .execute()
  return id
}

export async function updateUser(tx: Db, clock: Clock, id: string, input: UserInput): Promise<void> {
  await tx
    .updateTable('scim_users')
    .set({
      user_name: input.userName.toLowerCase(),
      external_id: input.externalId,
      resource: input.resource,
      updated_at: isoNow(clock),
    })
    .where('id', '=', id)
    .execute()
}

export async function updateMemberProfile(
  tx: Db,
  memberId: string,
  person: Pick<UserRow, 'email' | 'first_name' | 'last_name'>,
): Promise<void> {
  const { email, first_name, last_name } = person
  await tx.updateTable('members').set({ email, first_name, last_name }).where('id', '=', memberId).execute()
}

/** The groups of each user, by SCIM user id. */
export async function listGroupsByUser(db: Db, ids: string[]): Promise<Map<string, UserGroup[]>> {
  const groups: UserGroup[] = []
  for (const batch of splitIntoChunks(ids, 500)) {
    const rows = await db
      .selectFrom('scim_group_members')
      .innerJoin('scim_groups', 'scim_groups.id', 'scim_group_members.group_id')
      .select(['scim_group_members.scim_user_id', 'scim_groups.id as group_id', 'scim_groups.display_name'])
      .where('scim_group_members.scim_user_id', 'in', batch)
      .orderBy('scim_groups.created_at')
      .orderBy('scim_groups.id')
      .execute()
    groups.push(...rows)
  }
  return Map.groupBy(groups, (row) => row.scim_user_id)
}
