import type { Db } from '../platform/db/db.ts'
import type { PresetFormat } from '../platform/db/schema.ts'

/** The configuration a preset adds to a request. */
export interface ActivePreset {
  id: string
  /** The only workspace that may use it; null if every workspace of the organization may. */
  workspaceId: string | null
  format: PresetFormat
  systemPrompt: string | null
  config: Record<string, unknown>
}

/** The designated version of an active preset. Those of the default workspace are shared by the organization. */
export async function findActivePreset(
  db: Db,
  organizationId: string,
  slug: string,
): Promise<ActivePreset | undefined> {
  const row = await db
    .selectFrom('presets')
    .innerJoin('preset_versions', 'preset_versions.id', 'presets.designated_version_id')
    .leftJoin('workspaces', 'workspaces.id', 'presets.workspace_id')
    .select(['presets.id', 'presets.workspace_id', 'workspaces.is_default'])
    .select(['preset_versions.format', 'preset_versions.system_prompt', 'preset_versions.config'])
    .where('presets.organization_id', '=', organizationId)
    .where('presets.slug', '=', slug)
    .where('presets.status', '=', 'active')
    .executeTakeFirst()
  if (!row) return undefined
  return {
    id: row.id,
    workspaceId: row.is_default === 1 ? null : row.workspace_id,
    format: row.format,
    systemPrompt: row.system_prompt,
    config: JSON.parse(row.config),
  }
}
