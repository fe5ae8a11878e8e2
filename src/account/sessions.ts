import type { Db } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { newToken } from '../lib/ids.ts'
import { sha256 } from '../lib/secret.ts'
import type { Member } from './members.ts'

const linkLifeMs = 60 * 60_000
const sessionLifeMs = 7 * 24 * 60 * 60_000

function after(clock: Clock, ms: number): string {
  return new Date(clock.now() + ms).toISOString()
}

/** A token for a sign-in link: works once, within the hour. */
export async function createSigninToken(db: Db, clock: Clock, userId: string): Promise<string> {
  const token = newToken()
  await db
    .insertInto('signin_links')
    .values({
      token_hash: sha256(token),
      user_id: userId,
      expires_at: after(clock, linkLifeMs),
      used_at: null,
    })
    .execute()
  return token
}

/** Trades a sign-in token for a session token; undefined when it is unknown, used or expired. */
export async function openSession(db: Db, clock: Clock, signinToken: string): Promise<string | undefined> {
  const now = after(clock, 0)
  return db.transaction().execute(async (tx) => {
    const link = await tx
      .updateTable('signin_links')
      .set({ used_at: now })
      .where('token_hash', '=', sha256(signinToken))
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .returning('user_id')
      .executeTakeFirst()
    if (!link) return undefined
    const token = newToken()
    await tx
      .insertInto('sessions')
      .values({
        token_hash: sha256(token),
        user_id: link.user_id,
        created_at: now,
        expires_at: after(clock, sessionLifeMs),
      })
      .execute()
    return token
  })
}

export async function findSession(db: Db, clock: Clock, token: string): Promise<Member | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('members', 'members.id', 'sessions.user_id')
    .selectAll('members')
    .where('sessions.token_hash', '=', sha256(token))
    .where('sessions.expires_at', '>', after(clock, 0))
    .executeTakeFirst()
}

export async function closeSession(db: Db, token: string): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', sha256(token)).execute()
}
