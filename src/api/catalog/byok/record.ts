import type { Selectable } from 'kysely'
import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import type { ByokKeyTable } from '../../../platform/db/schema.ts'
import { booleanOf, decodeList, encodeList, toFlag } from '../../../platform/db/values.ts'
import { textLine } from '../../../platform/validation/name-schema.ts'
import { credentialText } from './credential.ts'

export type ByokRow = Selectable<ByokKeyTable>

const filterList = z.array(z.string()).nullable()

export const byokRecord = z
  .strictObject({
    id: z.uuid(),
    workspace_id: z.uuid().nullable().describe('null if it can be used in every workspace.'),
    provider: z.string(),
    name: z.string().nullable(),
    label: z.string().describe('The masked credential.'),
    disabled: z.boolean(),
    is_fallback: z.boolean().describe('Whether the key is tried after shared capacity.'),
    is_required: z
      .boolean()
      .describe('Whether shared capacity of the provider is excluded for the models this key applies to.'),
    is_byok_only: z.boolean().describe('Whether shared capacity of the provider is excluded for all models.'),
    declared_zdr: z
      .boolean()
      .nullable()
      .describe('Whether the key counts as zero data retention; null to follow the endpoint.'),
    allowed_models: filterList.describe('null if there is no restriction; an empty list allows no model.'),
    allowed_api_key_hashes: filterList.describe('null if there is no restriction.'),
    allowed_user_ids: filterList.describe('null if there is no restriction; an empty list allows no member.'),
    sort_order: z.int().describe('The order within the provider; lower values are tried first.'),
    created_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'ByokKey' })

const settingFields = {
  name: textLine(255).nullish(),
  disabled: z.boolean().optional(),
  is_fallback: z.boolean().optional(),
  is_byok_only: z.boolean().optional(),
  is_required: z.boolean().optional(),
  declared_zdr: z.boolean().nullish(),
  allowed_models: z.array(z.string().min(1).max(200)).max(100).nullish(),
  allowed_api_key_hashes: z
    .array(z.string().regex(/^[a-f0-9]{64}$/, 'must be 64 lower-case hex digits'))
    .min(1)
    .max(100)
    .nullish(),
  allowed_user_ids: z.array(z.string().min(1).max(100)).max(100).nullish(),
}

export const createBody = z.strictObject({
  provider: z.string().min(1).max(100),
  key: credentialText,
  workspace_id: z.uuid().optional().describe('Defaults to the default workspace.'),
  ...settingFields,
})

export const updateBody = z.strictObject({ key: credentialText.optional(), ...settingFields })

export type ByokSettings = Omit<z.output<typeof updateBody>, 'key'>

/** Converts only the fields that were sent. */
export function toSettingColumns(body: ByokSettings) {
  return {
    ...(body.name !== undefined && { name: body.name }),
    ...(body.disabled !== undefined && { disabled: toFlag(body.disabled) }),
    ...(body.is_fallback !== undefined && { is_fallback: toFlag(body.is_fallback) }),
    ...(body.is_byok_only !== undefined && { is_byok_only: toFlag(body.is_byok_only) }),
    ...(body.is_required !== undefined && { is_required: toFlag(body.is_required) }),
    ...(body.declared_zdr !== undefined && {
      declared_zdr: toFlag(body.declared_zdr),
    }),
    ...(body.allowed_models !== undefined && { allowed_models: encodeList(body.allowed_models) }),
    ...(body.allowed_api_key_hashes !== undefined && {
      allowed_api_key_hashes: encodeList(body.allowed_api_key_hashes),
    }),
    ...(body.allowed_user_ids !== undefined && { allowed_user_ids: encodeList(body.allowed_user_ids) }),
  }
}

export function toByokRecord(row: ByokRow): z.input<typeof byokRecord> {
  return {
    id: row.id,
    workspace_id: row.workspace_id,
    provider: row.provider,
    name: row.name,
    label: row.label,
    disabled: row.disabled === 1,
    is_fallback: row.is_fallback === 1,
    is_required: row.is_required === 1,
    is_byok_only: row.is_byok_only === 1,
    declared_zdr: booleanOf(row.declared_zdr),
    allowed_models: decodeList(row.allowed_models),
    allowed_api_key_hashes: decodeList(row.allowed_api_key_hashes),
    allowed_user_ids: decodeList(row.allowed_user_ids),
    sort_order: row.sort_order,
    created_at: row.created_at,
  }
}

/** The target of an event. */
export function describeKey({ id, name, provider, workspace_id: workspaceId }: ByokRow) {
  return { target: { type: 'byok_key', id, name: name ?? provider }, workspaceId }
}
