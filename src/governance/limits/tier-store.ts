import type { Updateable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import { fetchPage, type RowPage } from '../../platform/db/page.ts'
import type { LimitTierTable } from '../../platform/db/schema.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../platform/time/clock.ts'
import type { Pagination } from '../../platform/validation/query-params.ts'
import type { TierRow } from './store.ts'

export function listTiers(db: Db, organizationId: string, page: Pagination): Promise<RowPage<TierRow>> {
  const all = db.selectFrom('limit_tiers').selectAll().where('organization_id', '=', organizationId)
  return fetchPage(all, page, ['name'])
}

export function listSettingsTiers(db: Db, organizationId: string): Promise<TierRow[]> {
  return db
    .selectFrom('limit_tiers')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('from_settings', '=', 1)
    .execute()
}

export function findTier(db: Db, organizationId: string, name: string): Promise<TierRow | undefined> {
  return db
    .selectFrom('limit_tiers')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** The name of a tier that exists, or null; a 400 names the field of one that does not. */
export async function requireTier(
  db: Db,
  organizationId: string,
  name: string | null,
  field: string,
): Promise<string | null> {
  if (name === null) return null
  if (await findTier(db, organizationId, name)) return name
  throw invalidFieldError(field, `"${name}" is not a tier`)
}

/** The tier of new keys that name none. */
export async function findDefaultTier(db: Db, organizationId: string): Promise<string | null> {
  const row = await db
    .selectFrom('limit_tiers')
    .select('name')
    .where('organization_id', '=', organizationId)
    .where('is_default', '=', 1)
    .executeTakeFirst()
  return row?.name ?? null
}

export async function isTierOfKeys(tx: Db, { organization_id, name }: TierRow): Promise<boolean> {
  const row = await tx
    .selectFrom('api_keys')
    .select('id')
    .where('organization_id', '=', organization_id)
    .where('tier', '=', name)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

export function insertTier(
  tx: Db,
  clock: Clock,
  row: Omit<TierRow, 'created_at' | 'updated_at'>,
): Promise<TierRow> {
  const now = isoNow(clock)
  return tx
    .insertInto('limit_tiers')
    .values({ ...row, created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export function updateTier(
  tx: Db,
  clock: Clock,
  { organization_id, name }: TierRow,
  changes: Updateable<LimitTierTable>,
): Promise<TierRow> {
  return tx
    .updateTable('limit_tiers')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('organization_id', '=', organization_id)
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Another tier becomes the default. */
export async function clearDefaultTier(tx: Db, organizationId: string): Promise<void> {
  await tx
    .updateTable('limit_tiers')
    .set({ is_default: 0 })
    .where('organization_id', '=', organizationId)
    .where('is_default', '=', 1)
    .execute()
}

/** Its limits end with it, and its keys have none. */
export async function deleteTier(tx: Db, { organization_id, name }: TierRow): Promise<void> {
  for (const table of ['limits', 'limit_tiers'] as const) {
    const column = table === 'limits' ? 'tier' : 'name'
    await tx
      .deleteFrom(table)
      .where('organization_id', '=', organization_id)
      .where(column, '=', name)
      .execute()
  }
  await tx
    .updateTable('api_keys')
    .set({ tier: null })
    .where('organization_id', '=', organization_id)
    .where('tier', '=', name)
    .execute()
}
