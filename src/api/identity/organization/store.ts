import type { Member } from '../../../identity/members.ts'
import { containsText } from '../../../platform/db/contains-text.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

interface MemberFilter {
  /** Workspaces whose members are selected; null: all members of the organization. */
  workspaceIds: readonly string[] | null
  ids: readonly string[] | undefined
  /** Text to find in the name, address or id. */
  text: string | undefined
  role: Member['role'] | undefined
}

/** Workspaces of a member that a list names. */
export const maxNamed = 10

export interface MemberActivity {
  workspaces: { id: string; name: string }[]
  /** Of the sessions in the console that have not ended; null without any. */
  lastSeenAt: string | null
}

/** Reads the workspaces and sessions of each member of a page. `visible` null: all workspaces. */
export async function readActivity(
  db: Db,
  members: readonly Pick<Member, 'id'>[],
  visible: readonly string[] | null,
): Promise<Map<string, MemberActivity>> {
  const activity = new Map<string, MemberActivity>()
  for (const { id } of members)
    activity.set(id, {
      workspaces: await listFirstWorkspaces(db, id, visible),
      lastSeenAt: await findLastSeen(db, id),
    })
  return activity
}

function listFirstWorkspaces(db: Db, userId: string, visible: readonly string[] | null) {
  let joined = db
    .selectFrom('workspace_members')
    .innerJoin('workspaces', 'workspaces.id', 'workspace_members.workspace_id')
    .where('workspace_members.user_id', '=', userId)
  if (visible) joined = joined.where('workspaces.id', 'in', visible)
  return joined
    .select(['workspaces.id', 'workspaces.name'])
    .orderBy('workspaces.name')
    .orderBy('workspaces.id')
    .limit(maxNamed)
    .execute()
}

async function findLastSeen(db: Db, userId: string): Promise<string | null> {
  const row = await db
    .selectFrom('sessions')
    .select((eb) => eb.fn.max('last_seen_at').as('last_seen_at'))
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row?.last_seen_at ?? null
}

export async function listMembers(
  db: Db,
  organizationId: string,
  { workspaceIds, ids, text, role }: MemberFilter,
  page: Pagination,
): Promise<RowPage<Member>> {
  let all = db.selectFrom('members').where('organization_id', '=', organizationId)
  if (workspaceIds) {
    const userIds = db
      .selectFrom('workspace_members')
      .select('user_id')
      .where('workspace_id', 'in', workspaceIds)
    all = all.where('id', 'in', userIds)
  }
  if (role !== undefined) all = all.where('role', '=', role)
  if (ids) all = all.where('id', 'in', ids)
  if (text !== undefined) all = all.where(containsText(['first_name', 'last_name', 'email', 'id'], text))
  return fetchPage(all.selectAll(), page)
}
