import type { Selectable } from 'kysely'
import { deleteKey, findKeyById } from '../../identity/keys.ts'
import type { Db } from '../../platform/db/db.ts'
import type { ShadowTable } from '../../platform/db/schema.ts'
import type { Clock } from '../../platform/time/clock.ts'

export type ShadowRow = Selectable<ShadowTable>

/** The workspace that mirrors are recorded in. The first shadow of an organization creates it. */
export const shadowWorkspaceSlug = 'shadow-mode'

/** Where mirrors are sent; what is null stays as in the request. */
export interface ShadowTarget {
  model: string | null
  /** Slugs of the providers that mirrors may be sent to, and of those they may not. */
  only: readonly string[] | null
  ignore: readonly string[] | null
}

/** A shadow as requests read it. */
export interface Shadow {
  id: string
  organizationId: string
  keyId: number
  /** From 0 to 1,000,000. */
  sharePpm: number
  models: ReadonlySet<string> | null
  target: ShadowTarget
  dailyNanos: bigint
  maxBodyBytes: number
  timeoutMs: number
  concurrency: number
}

/** The shadows of an organization that mirror its requests. */
export class ShadowIndex {
  readonly #rows: readonly ShadowRow[]
  readonly #byWorkspace = new Map<string, readonly Shadow[] | null>()

  constructor(rows: readonly ShadowRow[]) {
    this.#rows = rows
  }

  /** Shared by the requests of a workspace; null if it has none. */
  forWorkspace(id: string): readonly Shadow[] | null {
    const known = this.#byWorkspace.get(id)
    if (known !== undefined) return known
    const found = this.#rows
      .filter(({ workspace_id }) => workspace_id === null || workspace_id === id)
      .map(toShadow)
    const shadows = found.length === 0 ? null : found
    this.#byWorkspace.set(id, shadows)
    return shadows
  }
}

/** As it is now; null if it is disabled or deleted. */
export async function findEnabledShadow(
  db: Db,
  { organizationId, id }: Pick<Shadow, 'organizationId' | 'id'>,
): Promise<Shadow | null> {
  const row = await db
    .selectFrom('shadows')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .where('enabled', '=', 1)
    .executeTakeFirst()
  return row ? toShadow(row) : null
}

/** Null if no request of the organization is mirrored. */
export async function loadShadows(db: Db, organizationId: string): Promise<ShadowIndex | null> {
  const rows = (await listShadowRows(db, organizationId)).filter(
    ({ enabled, share_ppm }) => enabled === 1 && share_ppm > 0,
  )
  return rows.length === 0 ? null : new ShadowIndex(rows)
}

export function toShadow(row: ShadowRow): Shadow {
  const models = decodeModels(row)
  return {
    id: row.id,
    organizationId: row.organization_id,
    keyId: row.key_id,
    sharePpm: row.share_ppm,
    models: models && new Set(models),
    target: decodeTarget(row),
    dailyNanos: row.daily_nanos,
    maxBodyBytes: row.max_body_bytes,
    timeoutMs: row.timeout_ms,
    concurrency: row.concurrency,
  }
}

export function decodeModels({ models }: Pick<ShadowRow, 'models'>): string[] | null {
  return models === null ? null : (JSON.parse(models) as string[])
}

export function decodeTarget({ target }: Pick<ShadowRow, 'target'>): ShadowTarget {
  return JSON.parse(target) as ShadowTarget
}

/** The shadows of an organization, the oldest first. */
export function listShadowRows(db: Db, organizationId: string): Promise<ShadowRow[]> {
  return db
    .selectFrom('shadows')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Deletes the shadows that mirror the requests of a workspace and no others, with their keys. */
export async function deleteShadowsOfWorkspace(tx: Db, clock: Clock, workspaceId: string): Promise<void> {
  const rows = await tx
    .selectFrom('shadows')
    .select(['id', 'key_id'])
    .where('workspace_id', '=', workspaceId)
    .execute()
  for (const { id, key_id } of rows) {
    const key = await findKeyById(tx, key_id)
    if (key) await deleteKey(tx, clock, key)
    await deleteShadow(tx, id)
  }
}

/** Whether the key of a shadow belongs to a workspace. */
export async function recordsMirrors(db: Db, workspaceId: string): Promise<boolean> {
  const row = await db
    .selectFrom('shadows')
    .innerJoin('api_keys', 'api_keys.id', 'shadows.key_id')
    .select('shadows.id')
    .where('api_keys.workspace_id', '=', workspaceId)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertShadow(tx: Db, row: ShadowRow): Promise<void> {
  await tx.insertInto('shadows').values(row).execute()
}

export async function saveShadow(tx: Db, { id, organization_id: _own, ...row }: ShadowRow): Promise<void> {
  await tx.updateTable('shadows').set(row).where('id', '=', id).execute()
}

/** Its comparisons are deleted by the job that trims them. */
export async function deleteShadow(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('shadows').where('id', '=', id).execute()
}
