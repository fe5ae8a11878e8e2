import type { Selectable } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { LimitReset, MemberLimitTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

/** The spending limit of a member in all workspaces, for all keys and for requests while signed in. */
export type MemberLimit = Pick<Selectable<MemberLimitTable>, 'user_id' | 'limit_nanos' | 'limit_reset'>

/** Null if the member has none, or the key has no member. */
export async function findMemberLimit(db: Db, userId: string | null): Promise<MemberLimit | null> {
  if (userId === null) return null
  const row = await db
    .selectFrom('member_limits')
    .select(['user_id', 'limit_nanos', 'limit_reset'])
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row ?? null
}

export interface MemberLimitChanges {
  /** Limit in nano-dollars; null removes it. */
  limit?: bigint | null | undefined
  reset?: LimitReset | null | undefined
}

/** Returns the limit after the change. An interval without a limit has no effect. */
export async function changeMemberLimit(
  tx: Db,
  clock: Clock,
  userId: string,
  { limit, reset }: MemberLimitChanges,
): Promise<MemberLimit | null> {
  const before = await findMemberLimit(tx, userId)
  const amount = limit === undefined ? (before?.limit_nanos ?? null) : limit
  if (amount === null) {
    await tx.deleteFrom('member_limits').where('user_id', '=', userId).execute()
    return null
  }
  const columns = {
    limit_nanos: amount,
    limit_reset: reset === undefined ? (before?.limit_reset ?? null) : reset,
    updated_at: isoNow(clock),
  }
  await tx
    .insertInto('member_limits')
    .values({ user_id: userId, ...columns })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet(columns))
    .execute()
  return { user_id: userId, limit_nanos: columns.limit_nanos, limit_reset: columns.limit_reset }
}
