import type { Selectable, Updateable } from 'kysely'
import type { Db } from '../../platform/db/db.ts'
import type { LimitTable, LimitTierTable } from '../../platform/db/schema.ts'
import { type Clock, isoNow } from '../../platform/time/clock.ts'
import { LimitIndex } from './limit-index.ts'
import type { LimitDimension, LimitMeasure, LimitRule, LimitWindow } from './limit-rule.ts'

export type LimitRow = Selectable<LimitTable>
export type TierRow = Selectable<LimitTierTable>

export function toLimitRule(row: LimitRow): LimitRule {
  const list = <T extends string>(text: string) => JSON.parse(text) as T[]
  return {
    id: row.id,
    name: row.name,
    measure: row.measure as LimitMeasure,
    window: row.period as LimitWindow | null,
    amount: BigInt(row.amount),
    includeByok: row.include_byok === 1,
    match: {
      workspaceId: row.workspace_id,
      userId: row.user_id,
      keyId: row.key_id,
      tier: row.tier,
      endUser: row.end_user,
      tags: list(row.tags),
      models: list(row.models),
      providers: list(row.providers),
    },
    per: list<LimitDimension>(row.per),
  }
}

/** The limits that are in force in an organization. */
export async function loadLimitIndex(db: Db, organizationId: string): Promise<LimitIndex> {
  const rows = await db
    .selectFrom('limits')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('enabled', '=', 1)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return new LimitIndex(rows.map(toLimitRule))
}

export async function listLimitRowsById(db: Db, ids: readonly string[]): Promise<LimitRow[]> {
  if (ids.length === 0) return []
  return db.selectFrom('limits').selectAll().where('id', 'in', ids).execute()
}

/** Every declared limit of an organization. */
export async function listLimitRows(db: Db, organizationId: string): Promise<LimitRow[]> {
  return db.selectFrom('limits').selectAll().where('organization_id', '=', organizationId).execute()
}

/** The limits of an organization that headgate.yaml declares. */
export async function listSettingsLimits(db: Db, organizationId: string): Promise<LimitRow[]> {
  return db
    .selectFrom('limits')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('from_settings', '=', 1)
    .execute()
}

/** Whether headgate.yaml has declared limits or tiers before. */
export async function hasSettingsLimits(db: Db): Promise<boolean> {
  for (const table of ['limits', 'limit_tiers'] as const) {
    const query = db.selectFrom(table).select('from_settings').where('from_settings', '=', 1)
    if (await query.limit(1).executeTakeFirst()) return true
  }
  return false
}

export async function findLimit(db: Db, organizationId: string, id: string): Promise<LimitRow | undefined> {
  return db
    .selectFrom('limits')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('id', '=', id)
    .executeTakeFirst()
}

export async function insertLimit(
  tx: Db,
  clock: Clock,
  row: Omit<LimitRow, 'created_at' | 'updated_at'>,
): Promise<LimitRow> {
  const now = isoNow(clock)
  return tx
    .insertInto('limits')
    .values({ ...row, created_at: now, updated_at: now })
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function updateLimit(
  tx: Db,
  clock: Clock,
  id: string,
  changes: Updateable<LimitTable>,
): Promise<LimitRow> {
  return tx
    .updateTable('limits')
    .set({ ...changes, updated_at: isoNow(clock) })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function deleteLimit(tx: Db, id: string): Promise<void> {
  await tx.deleteFrom('limits').where('id', '=', id).execute()
}
