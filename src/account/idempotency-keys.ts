import type { Selectable } from 'kysely'
import type { Db } from '../db/db.ts'
import type { IdempotencyKeyTable } from '../db/schema.ts'
import { type Clock, isoNow } from '../lib/clock.ts'

const lifetimeMs = 24 * 3600_000
/** Of one organization. Beyond it, the oldest are forgotten. */
const maxKeys = 100_000
/** Deleted in one statement. */
const batchSize = 5000

export type IdempotencyKey = Selectable<IdempotencyKeyTable>

export interface NewIdempotencyKey {
  /** A hash of the caller, the operation and the key. */
  id: string
  organizationId: string
  /** A hash of the request. */
  fingerprint: string
}

/** Claims a key for a request. Undefined if it succeeds; otherwise the request that has claimed it. */
export async function claimIdempotencyKey(
  db: Db,
  clock: Clock,
  { id, organizationId, fingerprint }: NewIdempotencyKey,
): Promise<IdempotencyKey | undefined> {
  const created_at = isoNow(clock)
  const row = { organization_id: organizationId, fingerprint, response: null, created_at }
  const claimed = await db
    .insertInto('idempotency_keys')
    .values({ id, ...row })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet(row).where('idempotency_keys.created_at', '<', earliestTime(clock)),
    )
    .returning('id')
    .executeTakeFirst()
  if (claimed) return undefined
  const known = await db.selectFrom('idempotency_keys').selectAll().where('id', '=', id).executeTakeFirst()
  // It was released meanwhile.
  return known ?? claimIdempotencyKey(db, clock, { id, organizationId, fingerprint })
}

/** `response` is sealed. */
export async function storeIdempotentResponse(db: Db, id: string, response: string): Promise<void> {
  await db.updateTable('idempotency_keys').set({ response }).where('id', '=', id).execute()
}

/** For a request that had no effect: the next one with the key runs. */
export async function releaseIdempotencyKey(db: Db, id: string): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('id', '=', id).where('response', 'is', null).execute()
}

/** Deletes keys that have expired, and the oldest of an organization that has too many. */
export async function pruneIdempotencyKeys({ db, clock }: { db: Db; clock: Clock }): Promise<void> {
  while ((await deleteBefore(db, earliestTime(clock))) === batchSize);
  const crowded = await db
    .selectFrom('idempotency_keys')
    .select('organization_id')
    .groupBy('organization_id')
    .having((eb) => eb.fn.countAll<number>(), '>', maxKeys)
    .execute()
  for (const { organization_id } of crowded) {
    const oldest = await db
      .selectFrom('idempotency_keys')
      .select('created_at')
      .where('organization_id', '=', organization_id)
      .orderBy('created_at', 'desc')
      .offset(maxKeys)
      .limit(1)
      .executeTakeFirst()
    while (oldest && (await deleteBefore(db, oldest.created_at, organization_id)) === batchSize);
  }
}

async function deleteBefore(db: Db, time: string, organizationId?: string): Promise<number> {
  const result = await db
    .deleteFrom('idempotency_keys')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('idempotency_keys')
        .select('id')
        .where('created_at', '<', time)
        .$if(organizationId !== undefined, (query) =>
          query.where('organization_id', '=', organizationId ?? ''),
        )
        .limit(batchSize),
    )
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}

function earliestTime(clock: Clock): string {
  return new Date(clock.now() - lifetimeMs).toISOString()
}
