import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { BlockedEndUserTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export type BlockedEndUser = Selectable<BlockedEndUserTable>

/** The names of the end users whose requests an organization rejects; null if there are none. */
export async function loadBlockedNames(db: Db, organizationId: string): Promise<ReadonlySet<string> | null> {
  const rows = await db
    .selectFrom('blocked_end_users')
    .select('name')
    .where('organization_id', '=', organizationId)
    .execute()
  return rows.length === 0 ? null : new Set(rows.map(({ name }) => name))
}

export async function findBlocked(
  db: Db,
  organizationId: string,
  names: readonly string[],
): Promise<BlockedEndUser[]> {
  if (names.length === 0) return []
  return db
    .selectFrom('blocked_end_users')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('name', 'in', names)
    .execute()
}

/** Blocks an end user, or changes the reason. */
export async function blockEndUser(
  tx: Db,
  clock: Clock,
  { organizationId, name, reason }: { organizationId: string; name: string; reason: string | null },
): Promise<void> {
  await tx
    .insertInto('blocked_end_users')
    .values({ organization_id: organizationId, name, reason, created_at: isoNow(clock) })
    .onConflict((conflict) => conflict.columns(['organization_id', 'name']).doUpdateSet({ reason }))
    .execute()
}

export async function unblockEndUser(tx: Db, organizationId: string, name: string): Promise<void> {
  await tx
    .deleteFrom('blocked_end_users')
    .where('organization_id', '=', organizationId)
    .where('name', '=', name)
    .execute()
}
