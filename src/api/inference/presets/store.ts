import type { Selectable } from 'kysely'
import { newUuid } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../../platform/db/page.ts'
import type { PresetTable, PresetVersionTable } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { Pagination } from '../../../platform/validation/query-params.ts'

export type Preset = Selectable<PresetTable>
export type PresetVersion = Selectable<PresetVersionTable>

/** Lists presets, most recently updated first; ties are broken by id. */
export async function listPresets(
  db: Db,
  organizationId: string,
  /** Null: all of the organization. */
  workspaceIds: readonly string[] | null,
  page: Pagination,
): Promise<RowPage<Preset>> {
  let all = db.selectFrom('presets').where('organization_id', '=', organizationId)
  if (workspaceIds) all = all.where('workspace_id', 'in', workspaceIds)
  return fetchPage(all.selectAll(), page, ['updated_at', 'id'], 'desc')
}

export function findPreset(db: Db, organizationId: string, slug: string): Promise<Preset | undefined> {
  return db
    .selectFrom('presets')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('slug', '=', slug)
    .executeTakeFirst()
}

export async function requirePreset(db: Db, organizationId: string, slug: string): Promise<Preset> {
  const preset = await findPreset(db, organizationId, slug)
  if (!preset) throw presetNotFoundError()
  return preset
}

function presetNotFoundError() {
  return gatewayError('not_found', 'The preset does not exist.')
}

/** Locks the preset against other changes until the transaction ends. */
export async function lockPreset(tx: Db, organizationId: string, slug: string): Promise<Preset> {
  const preset = await tx
    .updateTable('presets')
    .set((eb) => ({ slug: eb.ref('slug') }))
    .where('organization_id', '=', organizationId)
    .where('slug', '=', slug)
    .returningAll()
    .executeTakeFirst()
  if (!preset) throw presetNotFoundError()
  return preset
}

export interface NewPreset {
  organizationId: string
  /** Null for a preset of the organization. */
  workspaceId: string | null
  slug: string
  creatorUserId: string | null
}

/** Locks a preset, like `lockPreset`, but creates an absent one: in one statement, so that there is no race. */
export async function lockOrCreatePreset(tx: Db, clock: Clock, input: NewPreset): Promise<Preset> {
  const now = isoNow(clock)
  return tx
    .insertInto('presets')
    .values({
      id: newUuid(),
      organization_id: input.organizationId,
      workspace_id: input.workspaceId,
      slug: input.slug,
      name: input.slug,
      description: null,
      status: 'active',
      status_updated_at: null,
      designated_version_id: null,
      creator_user_id: input.creatorUserId,
      created_at: now,
      updated_at: now,
    })
    .onConflict((conflict) =>
      conflict.columns(['organization_id', 'slug']).doUpdateSet((eb) => ({ slug: eb.ref('excluded.slug') })),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export type VersionContent = Pick<PresetVersion, 'format' | 'system_prompt' | 'config' | 'creator_id'>

/** The preset must be locked, or two versions could get the same number. */
export async function addVersion(
  tx: Db,
  clock: Clock,
  presetId: string,
  content: VersionContent,
): Promise<PresetVersion> {
  const { last } = await tx
    .selectFrom('preset_versions')
    .select((eb) => eb.fn.max('version').as('last'))
    .where('preset_id', '=', presetId)
    .executeTakeFirstOrThrow()
  const now = isoNow(clock)
  return tx
    .insertInto('preset_versions')
    .values({
      id: newUuid(),
      preset_id: presetId,
      version: (last ?? 0) + 1,
      format: content.format,
      system_prompt: content.system_prompt,
      config: content.config,
      creator_id: content.creator_id,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export type PresetChanges = Partial<
  Pick<PresetTable, 'name' | 'description' | 'status' | 'status_updated_at' | 'designated_version_id'>
>

export async function updatePreset(
  db: Db,
  clock: Clock,
  id: string,
  changes: PresetChanges,
): Promise<Preset> {
  return db
    .updateTable('presets')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Deletes a preset; its versions are deleted with it. */
export async function deletePreset(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('presets').where('id', '=', id).execute()
}

/** The target of an event. */
export function describePreset({ id, slug, workspace_id: workspaceId }: Preset) {
  return { target: { type: 'preset', id, name: slug }, workspaceId }
}

/** The designated version. Missing only if the preset was deleted since it was read. */
export async function findDesignatedVersion(db: Db, preset: Preset): Promise<PresetVersion | null> {
  if (preset.designated_version_id === null) return null
  const version = await db
    .selectFrom('preset_versions')
    .selectAll()
    .where('id', '=', preset.designated_version_id)
    .executeTakeFirst()
  if (!version) throw presetNotFoundError()
  return version
}

export async function findVersion(
  db: Db,
  presetId: string,
  version: number,
): Promise<PresetVersion | undefined> {
  return db
    .selectFrom('preset_versions')
    .selectAll()
    .where('preset_id', '=', presetId)
    .where('version', '=', version)
    .executeTakeFirst()
}

export async function listVersions(
  db: Db,
  presetId: string,
  page: Pagination,
): Promise<RowPage<PresetVersion>> {
  const all = db.selectFrom('preset_versions').where('preset_id', '=', presetId)
  return fetchPage(all.selectAll(), page, ['version'])
}
