import type { Db } from '../platform/db/db.ts'
import { type ExportSettings, parseExportSettings } from './destinations/export-settings.ts'

/** The destinations that finished requests of a workspace are sent to; none while the workspace does not broadcast. */
export async function loadExportSettings(db: Db, workspaceId: string): Promise<ExportSettings[]> {
  const rows = await db
    .selectFrom('destinations')
    .innerJoin('workspaces', 'workspaces.id', 'destinations.workspace_id')
    .selectAll('destinations')
    .where('destinations.workspace_id', '=', workspaceId)
    .where('destinations.enabled', '=', 1)
    .where('destinations.deleted_at', 'is', null)
    .where('workspaces.broadcast_enabled', '=', 1)
    .orderBy('destinations.id')
    .execute()
  return rows.map(parseExportSettings)
}

/** Whether the workspace has an enabled destination that gets prompts and replies. */
export async function hasContentDestination(db: Db, workspaceId: string): Promise<boolean> {
  const row = await db
    .selectFrom('destinations')
    .select('id')
    .where('workspace_id', '=', workspaceId)
    .where('enabled', '=', 1)
    .where('privacy_mode', '=', 0)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row !== undefined
}
