import type { Db } from '../db/db.ts'
import type { PresetFormat } from '../db/schema.ts'

/** The configuration a preset adds to a request. */
export interface ActivePreset {
  id: string
  format: PresetFormat
  systemPrompt: string | null
  config: Record<string, unknown>
}

/** The designated version of an active preset. */
export async function findActivePreset(
  db: Db,
  organizationId: string,
  slug: string,
): Promise<ActivePreset | undefined> {
  const row = await db
    .selectFrom('presets')
    .innerJoin('preset_versions', 'preset_versions.id', 'presets.designated_version_id')
    .select(['presets.id', 'format', 'system_prompt', 'config'])
    .where('organization_id', '=', organizationId)
    .where('slug', '=', slug)
    .where('status', '=', 'active')
    .executeTakeFirst()
  if (!row) return undefined
  return { id: row.id, format: row.format, systemPrompt: row.system_prompt, config: JSON.parse(row.config) }
}
