import type { Selectable } from 'kysely'
import type { CustomRole } from '../../../identity/roles.ts'
import { type Db, isUniqueViolation } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { RoleAssignmentTable } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type RoleAssignmentRow = Selectable<RoleAssignmentTable>

export async function listCustomRoles(
  db: Db,
  organizationId: string,
  page: Pagination,
): Promise<RowPage<CustomRole>> {
  return fetchPage(db.selectFrom('roles').selectAll().where('organization_id', '=', organizationId), page)
}

export async function insertRole(tx: Db, row: CustomRole): Promise<void> {
  try {
    await tx.insertInto('roles').values(row).execute()
  } catch (error) {
    throw nameConflictError(error, row.name)
  }
}

export async function updateRole(tx: Db, { id, ...row }: CustomRole): Promise<void> {
  try {
    await tx.updateTable('roles').set(row).where('id', '=', id).execute()
  } catch (error) {
    throw nameConflictError(error, row.name)
  }
}

function nameConflictError(error: unknown, name: string): unknown {
  return isUniqueViolation(error) ? gatewayError('conflict', `name: another role is named "${name}".`) : error
}

export async function deleteRole(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('roles').where('id', '=', id).execute()
}

export async function countAssignments(tx: Db, organizationId: string, roleId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('role_assignments')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('organization_id', '=', organizationId)
    .where('role_id', '=', roleId)
    .executeTakeFirstOrThrow()
  return count
}

/** Lists the assignments in the given workspaces, or all if `workspaceIds` is null. */
export async function listAssignments(
  db: Db,
  userId: string,
  workspaceIds: readonly string[] | null,
  page: Pagination,
): Promise<RowPage<RoleAssignmentRow>> {
  let all = db.selectFrom('role_assignments').selectAll().where('user_id', '=', userId)
  if (workspaceIds) all = all.where('workspace_id', 'in', workspaceIds)
  return fetchPage(all, page)
}

export async function isAssigned(
  tx: Db,
  { user_id, role_id, workspace_id }: Pick<RoleAssignmentRow, 'user_id' | 'role_id' | 'workspace_id'>,
): Promise<boolean> {
  const row = await tx
    .selectFrom('role_assignments')
    .select('id')
    .where('user_id', '=', user_id)
    .where('role_id', '=', role_id)
    .where('workspace_id', workspace_id === null ? 'is' : '=', workspace_id)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertAssignment(tx: Db, row: RoleAssignmentRow): Promise<void> {
  await tx.insertInto('role_assignments').values(row).execute()
}

export async function findAssignment(
  db: Db,
  userId: string,
  id: string,
): Promise<RoleAssignmentRow | undefined> {
  return db
    .selectFrom('role_assignments')
    .selectAll()
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function deleteAssignment(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('role_assignments').where('id', '=', id).execute()
}
