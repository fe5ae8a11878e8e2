import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import { keyPermissions, type Permission } from '../../../identity/permissions/permissions.ts'
import { decodeList } from '../../../platform/db/values.ts'
import { nameField } from '../../../platform/validation/name-schema.ts'
import { utcTimestamp } from '../../../platform/validation/time-schema.ts'

const maxShownLength = 100
const managementPermissions = [...keyPermissions.management]

const permission = z.enum(managementPermissions, {
  error: ({ input }) => `"${String(input).slice(0, maxShownLength)}" is not a permission of management keys`,
})

const keyFields = {
  name: nameField(200),
  permissions: z
    .array(permission)
    .min(1)
    .max(managementPermissions.length)
    .nullish()
    .describe('What the key may do; null for everything.'),
  workspace_ids: z
    .array(z.uuid().toLowerCase())
    .min(1)
    .max(1000)
    .nullish()
    .describe('The workspaces in which the key may do it; null for the whole organization.'),
  expires_at: utcTimestamp.nullish(),
}

export const createBody = z.strictObject(keyFields)

export const updateBody = z.strictObject({ ...keyFields, disabled: z.boolean() }).partial()

export const managementKeyRecord = z
  .strictObject({
    hash: z.string(),
    name: z.string(),
    label: z.string(),
    permissions: z.array(z.string()).nullable().describe('null if the key may do everything.'),
    workspace_ids: z
      .array(z.uuid())
      .nullable()
      .describe('null if the key may act in the whole organization.'),
    disabled: z.boolean(),
    expires_at: z.string().nullable(),
    creator_user_id: z.string().nullable(),
    created_at: z.string(),
    updated_at: z.string().nullable(),
    managed_by: managedBy,
  })
  .meta({ id: 'ManagementKey' })

export function toManagementKeyRecord(key: ApiKey): z.input<typeof managementKeyRecord> {
  const { hash, name, label, expires_at, creator_user_id, created_at, updated_at } = key
  return {
    hash,
    name,
    label,
    permissions: decodeList<Permission>(key.permissions),
    workspace_ids: decodeList<string>(key.workspace_ids),
    disabled: key.disabled === 1,
    expires_at,
    creator_user_id,
    created_at,
    updated_at,
  }
}
