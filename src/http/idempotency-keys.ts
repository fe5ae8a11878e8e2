import { type Selectable, sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { IdempotencyKeyTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

const lifetimeMs = 24 * 3600_000
/** Maximum keys of one organization. Beyond it, the oldest are forgotten. */
const maxKeys = 100_000
/** Deleted in one statement. */
const batchSize = 5000
/** Maximum bytes of one organization's stored responses. Beyond it, the oldest are dropped; their keys still count. */
export const maxStoredBytes = 64 * 1024 * 1024
/** Bytes that remain then, so that not every new response has to make room. */
const trimmedBytes = maxStoredBytes * 0.9

export type IdempotencyKey = Selectable<IdempotencyKeyTable>

export interface NewIdempotencyKey {
  /** A hash of the caller, the operation and the key. */
  id: string
  organizationId: string
  /** Exactly one of these is set. */
  keyId: number | null
  userId: string | null
  /** A hash of the request. */
  fingerprint: string
}

/** Claims a key for a request. Undefined if it succeeds; otherwise the request that has claimed it. */
export async function claimIdempotencyKey(
  db: Db,
  clock: Clock,
  request: NewIdempotencyKey,
): Promise<IdempotencyKey | undefined> {
  const { id } = request
  const row = {
    organization_id: request.organizationId,
    key_id: request.keyId,
    user_id: request.userId,
    fingerprint: request.fingerprint,
    response: null,
    outcome: null,
    bytes: 0,
    created_at: isoNow(clock),
  }
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
  return known ?? claimIdempotencyKey(db, clock, request)
}

/** The request had its effect. `response` is encrypted; null if it is not stored. */
export async function storeIdempotentResponse(
  db: Db,
  { id, organizationId }: Pick<NewIdempotencyKey, 'id' | 'organizationId'>,
  response: string | null,
): Promise<void> {
  const bytes = response?.length ?? 0
  if (bytes > 0) await makeRoom(db, organizationId, bytes)
  const row = { response, bytes, outcome: 'succeeded' as const }
  await db.updateTable('idempotency_keys').set(row).where('id', '=', id).execute()
}

/** Drops the oldest responses of an organization that would have too many bytes. */
async function makeRoom(db: Db, organizationId: string, bytes: number): Promise<void> {
  const stored = db
    .selectFrom('idempotency_keys')
    .where('organization_id', '=', organizationId)
    .where('bytes', '>', 0)
  const { total } = await stored
    .select(sql<number | string>`coalesce(sum(bytes), 0)`.as('total'))
    .executeTakeFirstOrThrow()
  if (Number(total) + bytes <= maxStoredBytes) return
  const sums = stored.select([
    'created_at',
    sql<number>`sum(bytes) over (order by created_at desc)`.as('sum'),
  ])
  const newest = await db
    .selectFrom(sums.as('sums'))
    .select('created_at')
    .where('sum', '>', trimmedBytes - bytes)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (!newest) return
  await db
    .updateTable('idempotency_keys')
    .set({ response: null, bytes: 0, outcome: 'succeeded' })
    .where('organization_id', '=', organizationId)
    .where('bytes', '>', 0)
    .where('created_at', '<=', newest.created_at)
    .execute()
}

/** Ends a request that may have had an effect: no other one runs with the key. */
export async function endIdempotentRequest(db: Db, id: string): Promise<void> {
  await db.updateTable('idempotency_keys').set({ outcome: 'unknown' }).where('id', '=', id).execute()
}

/** Releases the key of a request that had no effect: the next one with the key runs. */
export async function releaseIdempotencyKey(db: Db, id: string): Promise<void> {
  await db
    .deleteFrom('idempotency_keys')
    .where('id', '=', id)
    .where('response', 'is', null)
    .where('outcome', 'is', null)
    .execute()
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
