import type { Selectable } from 'kysely'
import type { Workspace } from '../../../identity/workspaces.ts'
import { containsText } from '../../../platform/db/contains-text.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { WorkspaceMemberTable } from '../../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'
import { deleteShadowsOfWorkspace } from '../../../storage/shadows/shadow.ts'

export type WorkspaceMember = Selectable<WorkspaceMemberTable>

interface WorkspaceFilter {
  /** Null: all of the organization. */
  reachable: readonly string[] | null
  ids: readonly string[] | undefined
  /** Text to find in the name or slug. */
  text: string | undefined
}

export async function listWorkspaces(
  db: Db,
  organizationId: string,
  { reachable, ids, text }: WorkspaceFilter,
  page: Pagination,
): Promise<RowPage<Workspace>> {
  let all = db
    .selectFrom('workspaces')
    .where('organization_id', '=', organizationId)
    .where('deleted_at', 'is', null)
  if (reachable) all = all.where('id', 'in', reachable)
  if (ids) all = all.where('id', 'in', ids)
  if (text !== undefined) all = all.where(containsText(['name', 'slug'], text))
  return fetchPage(all.selectAll(), page)
}

/** Keys and members of a workspace that are counted, so that no count takes long. */
export const maxCounted = 1000

interface WorkspaceCounts {
  key_count: number
  member_count: number
}

/** Counts the keys and members of each workspace of a page. */
export async function countOfEach(
  db: Db,
  workspaces: readonly Pick<Workspace, 'id'>[],
): Promise<Map<string, WorkspaceCounts>> {
  const counts = new Map<string, WorkspaceCounts>()
  for (const { id } of workspaces)
    counts.set(id, { key_count: await countKeys(db, id), member_count: await countMembers(db, id) })
  return counts
}

async function countKeys(db: Db, workspaceId: string): Promise<number> {
  const keys = await db
    .selectFrom('api_keys')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('kind', '=', 'inference')
    .where('disabled', '=', 0)
    .where('source', '!=', 'session')
    .limit(maxCounted)
    .execute()
  return keys.length
}

async function countMembers(db: Db, workspaceId: string): Promise<number> {
  const members = await db
    .selectFrom('workspace_members')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .limit(maxCounted)
    .execute()
  return members.length
}

/** Keeps the row, because keys and past records refer to it. */
export async function deleteWorkspace(tx: Db, clock: Clock, id: string): Promise<void> {
  await tx.deleteFrom('scim_group_mappings').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('sso_mappings').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('workspace_members').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('role_assignments').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('workspace_budgets').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('guardrails').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('routing_rules').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('model_aliases').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('saved_views').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('comparisons').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('shadows').where('workspace_id', '=', id).execute()
  await tx.deleteFrom('files').where('workspace_id', '=', id).execute()
  await deleteShadowsOfWorkspace(tx, clock, id)
  await tx.deleteFrom('notification_rules').where('workspace_id', '=', id).execute()
  await tx
    .updateTable('destinations')
    .set({ enabled: 0, sealed_secrets: '', secrets_origin: null, deleted_at: isoNow(clock) })
    .where('workspace_id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
  await tx
    .updateTable('byok_keys')
    .set({ disabled: 1, sealed_key: null, deleted_at: isoNow(clock) })
    .where('workspace_id', '=', id)
    .where('deleted_at', 'is', null)
    .execute()
  await tx
    .updateTable('workspaces')
    .set({ deleted_at: isoNow(clock) })
    .where('id', '=', id)
    .execute()
}

export async function listWorkspaceMembers(
  db: Db,
  workspaceId: string,
  page: Pagination,
): Promise<RowPage<WorkspaceMember>> {
  const all = db.selectFrom('workspace_members').where('workspace_id', '=', workspaceId)
  return fetchPage(all.selectAll(), page)
}

export async function listMemberships(
  db: Db,
  workspaceId: string,
  userIds: string[],
): Promise<WorkspaceMember[]> {
  return db
    .selectFrom('workspace_members')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .where('user_id', 'in', userIds)
    .execute()
}

/** The given users who are members of the workspace. */
export async function listUsersInWorkspace(
  db: Db,
  workspaceId: string,
  userIds: string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom('workspace_members')
    .select('user_id')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', 'in', userIds)
    .orderBy('user_id')
    .execute()
  return rows.map((row) => row.user_id)
}

/** Removes members from a workspace, with their roles there and their authorization codes for it. */
export async function removeFromWorkspace(
  tx: Db,
  workspaceId: string,
  userIds: string[],
): Promise<WorkspaceMember[]> {
  for (const table of ['auth_codes', 'role_assignments'] as const) {
    await tx
      .deleteFrom(table)
      .where('workspace_id', '=', workspaceId)
      .where('user_id', 'in', userIds)
      .execute()
  }
  return tx
    .deleteFrom('workspace_members')
    .where('workspace_id', '=', workspaceId)
    .where('user_id', 'in', userIds)
    .returningAll()
    .execute()
}
