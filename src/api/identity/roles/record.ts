import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import { infoOf, type Permission, permissionNames } from '../../../identity/permissions/permissions.ts'
import { additionalRoles, type Role } from '../../../identity/permissions/roles.ts'
import { type CustomRole, decodeRole } from '../../../identity/roles.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'

const maxShownLength = 100

function permissionField(names: readonly Permission[], problem: string) {
  return z.enum(names, { error: ({ input }) => `"${String(input).slice(0, maxShownLength)}" ${problem}` })
}

export const permission = permissionField(permissionNames, 'is not a permission')

/** Permissions that can be granted for the records that a member created. */
const ownPermission = permissionField(
  permissionNames.filter((name) => infoOf(name).scope === 'own'),
  'is not a permission that can be granted for the records a member created',
)

const ownPermissions = z
  .array(ownPermission)
  .max(permissionNames.length)
  .describe('Permissions for the records that the member created.')

const roleFields = {
  name: nameField(100),
  description: z.string().trim().max(500).nullish(),
  permissions: z.array(permission).max(permissionNames.length),
}

export const createBody = z.strictObject({ ...roleFields, own_permissions: ownPermissions.default([]) })

export const updateBody = z.strictObject({ ...roleFields, own_permissions: ownPermissions }).partial()

export const roleRecord = z
  .strictObject({
    id: z.string(),
    name: z.string(),
    description: z.string().nullable(),
    permissions: z.array(permission),
    own_permissions: z.array(permission).describe('Permissions for the records that the member created.'),
    is_built_in: z.boolean().describe('Whether the role is part of Headgate and cannot be changed.'),
    is_assignable: z
      .boolean()
      .describe(
        'False for the roles that every member has: that of the organization, and those of workspaces.',
      ),
    created_at: z.string().nullable(),
    updated_at: z.string().nullable(),
    managed_by: managedBy,
  })
  .meta({ id: 'Role' })

export function toBuiltInRecord(role: Role): z.input<typeof roleRecord> {
  return {
    ...toFields(role),
    is_built_in: true,
    is_assignable: additionalRoles.includes(role),
    created_at: null,
    updated_at: null,
  }
}

export function toRoleRecord(row: CustomRole): z.input<typeof roleRecord> {
  const { created_at, updated_at } = row
  return { ...toFields(decodeRole(row)), is_built_in: false, is_assignable: true, created_at, updated_at }
}

function toFields({ id, name, description, permissions, ownPermissions }: Role) {
  return {
    id,
    name,
    description: description || null,
    permissions: [...permissions],
    own_permissions: [...ownPermissions],
  }
}
