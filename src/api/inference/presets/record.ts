import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import type { PresetFormat } from '../../../platform/db/schema.ts'
import type { Preset, PresetVersion } from './store.ts'

const presetFormats = ['chat', 'messages', 'responses'] as const satisfies PresetFormat[]

export const presetStatus = z.enum(['active', 'disabled', 'archived'])

const presetFields = {
  id: z.uuid(),
  name: z.string(),
  slug: z.string(),
  description: z.string().nullable(),
  status: presetStatus,
  status_updated_at: z.string().nullable(),
  designated_version_id: z.uuid().nullable(),
  creator_user_id: z.string().nullable(),
  workspace_id: z.uuid().nullable(),
  managed_by: managedBy,
  created_at: z.string(),
  updated_at: z.string(),
}

export const presetRecord = z.strictObject(presetFields).meta({ id: 'Preset' })

export const versionRecord = z
  .strictObject({
    id: z.uuid(),
    preset_id: z.uuid(),
    creator_id: z
      .string()
      .describe('The member who created it, "key:" and the hash of a key without a member, or "import".'),
    version: z.int().min(1),
    format: z
      .enum(presetFormats)
      .describe('An extension: the format of the request that it was created from.'),
    system_prompt: z.string().nullable(),
    config: z
      .record(z.string(), z.unknown())
      .describe('The configuration fields of the request, under the names they were sent with.'),
    created_at: z.string(),
    updated_at: z.string(),
  })
  .meta({ id: 'PresetVersion' })

export const fullRecord = z
  .strictObject({ ...presetFields, designated_version: versionRecord.nullable() })
  .meta({ id: 'PresetWithDesignatedVersion' })

export function toPresetRecord(preset: Preset): z.input<typeof presetRecord> {
  return {
    id: preset.id,
    name: preset.name,
    slug: preset.slug,
    description: preset.description,
    status: preset.status,
    status_updated_at: preset.status_updated_at,
    designated_version_id: preset.designated_version_id,
    creator_user_id: preset.creator_user_id,
    workspace_id: preset.workspace_id,
    created_at: preset.created_at,
    updated_at: preset.updated_at,
  }
}

export function toVersionRecord(version: PresetVersion): z.input<typeof versionRecord> {
  return {
    id: version.id,
    preset_id: version.preset_id,
    creator_id: version.creator_id,
    version: version.version,
    format: version.format,
    system_prompt: version.system_prompt,
    config: JSON.parse(version.config) as Record<string, unknown>,
    created_at: version.created_at,
    updated_at: version.updated_at,
  }
}

export function toFullRecord(preset: Preset, designated: PresetVersion | null): z.input<typeof fullRecord> {
  return { ...toPresetRecord(preset), designated_version: designated && toVersionRecord(designated) }
}
