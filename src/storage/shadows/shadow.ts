import type { Selectable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { ShadowTable } from '../../platform/db/schema.ts'

export type ShadowRow = Selectable<ShadowTable>

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
