import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { RoleTable } from '../platform/db/schema.ts'
import { decodeList } from '../platform/db/values.ts'
import { isPermission, type Permission } from './permissions/permissions.ts'
import { additionalRoles, type Role } from './permissions/roles.ts'

/** A role that an organization defined. */
export type CustomRole = Selectable<RoleTable>

/** A permission that no longer exists is ignored. */
export function decodePermissions(text: string | null): Permission[] {
  return decodeList<string>(text)?.filter(isPermission) ?? []
}

export function decodeRole(row: CustomRole): Role {
  return {
    id: row.id,
    name: row.name,
    description: row.description ?? '',
    permissions: decodePermissions(row.permissions),
    ownPermissions: decodePermissions(row.own_permissions),
  }
}

export async function findCustomRole(
  db: Db,
  organizationId: string,
  id: string,
): Promise<CustomRole | undefined> {
  return db
    .selectFrom('roles')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

/** A role that can be assigned in addition to that of the organization and those of the workspaces. */
export async function findAssignableRole(
  db: Db,
  organizationId: string,
  id: string,
): Promise<Role | undefined> {
  const builtIn = additionalRoles.find((role) => role.id === id)
  if (builtIn) return builtIn
  const row = await findCustomRole(db, organizationId, id)
  return row && decodeRole(row)
}
