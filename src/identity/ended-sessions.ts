import { sql } from 'kysely'
import type { Db } from '../platform/db/db.ts'
import type { SessionEnd } from '../platform/db/schema.ts'

/** Time for which the end of a session is known after the session would have expired. */
const rememberedMs = 7 * 24 * 3600_000
/** Maximum ended sessions of one member, the latest. By default, a member has no more sessions either. */
const maxPerMember = 100
/** Rows of one statement, whose parameters are limited. */
const batchSize = 500

interface EndedSession {
  token_hash: string
  user_id: string
  expires_at: string
}

/** Remembers how sessions ended. They are deleted in the same transaction. */
export async function rememberEnds(
  tx: Db,
  sessions: readonly EndedSession[],
  reasonOf: (session: EndedSession) => SessionEnd,
): Promise<void> {
  for (let at = 0; at < sessions.length; at += batchSize) {
    const rows = sessions.slice(at, at + batchSize).map((session) => ({
      token_hash: session.token_hash,
      user_id: session.user_id,
      reason: reasonOf(session),
      expires_at: new Date(Date.parse(session.expires_at) + rememberedMs).toISOString(),
    }))
    await tx
      .insertInto('ended_sessions')
      .values(rows)
      .onConflict((conflict) => conflict.column('token_hash').doNothing())
      .execute()
  }
}

export async function findEnd(db: Db, tokenHash: string): Promise<SessionEnd | undefined> {
  const ended = await db
    .selectFrom('ended_sessions')
    .select('reason')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return ended?.reason
}

/** Called when a member signs in, so that a member cannot have more by signing in and out. */
export async function forgetOldestEnds(tx: Db, userId: string): Promise<void> {
  await sql`delete from ended_sessions where user_id = ${userId} and expires_at < (
    select min(expires_at) from (
      select expires_at from ended_sessions where user_id = ${userId}
      order by expires_at desc limit ${maxPerMember}
    ) as latest)`.execute(tx)
}
