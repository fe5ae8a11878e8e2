import { sql } from 'kysely'
import { type Db, isPostgres } from '../db/db.ts'
import type { Clock } from '../lib/clock.ts'
import { sha256 } from '../lib/crypto.ts'
import { newToken } from '../lib/ids.ts'
import { type Ceilings, deleteBeyondCeiling } from './ceilings.ts'
import type { Member } from './members.ts'

const signinLinkTtlMs = 60 * 60_000
export const sessionTtlMs = 7 * 24 * 60 * 60_000

function isoAfter(clock: Clock, ms: number): string {
  return new Date(clock.now() + ms).toISOString()
}

/** A token for a sign-in link: valid once, for an hour. */
export async function createSigninToken(db: Db, clock: Clock, userId: string): Promise<string> {
  await deleteExpiredRows(db, clock, 'signin_links')
  const token = newToken()
  await db
    .insertInto('signin_links')
    .values({
      token_hash: sha256(token),
      user_id: userId,
      expires_at: isoAfter(clock, signinLinkTtlMs),
      used_at: null,
    })
    .execute()
  return token
}

/** The member a sign-in token belongs to, without using the token up. */
export async function findSigninMember(db: Db, clock: Clock, token: string): Promise<Member | undefined> {
  return db
    .selectFrom('signin_links')
    .innerJoin('members', 'members.id', 'signin_links.user_id')
    .selectAll('members')
    .where('signin_links.token_hash', '=', sha256(token))
    .where('signin_links.used_at', 'is', null)
    .where('members.active', '=', 1)
    .where('signin_links.expires_at', '>', isoAfter(clock, 0))
    .executeTakeFirst()
}

/** Exchanges a sign-in token for a session token; undefined if it is unknown, used or expired. */
export async function createSession(
  { db, clock, settings }: { db: Db; clock: Clock; settings: { ceilings: Ceilings } },
  signinToken: string,
): Promise<string | undefined> {
  const now = isoAfter(clock, 0)
  return db.transaction().execute(async (tx) => {
    const link = await tx
      .updateTable('signin_links')
      .set({ used_at: now })
      .where('token_hash', '=', sha256(signinToken))
      .where('used_at', 'is', null)
      .where('expires_at', '>', now)
      .where('user_id', 'in', tx.selectFrom('members').select('id').where('active', '=', 1))
      .returning('user_id')
      .executeTakeFirst()
    if (!link) return undefined
    await deleteExpiredRows(tx, clock, 'sessions')
    const token = newToken()
    await tx
      .insertInto('sessions')
      .values({
        token_hash: sha256(token),
        user_id: link.user_id,
        created_at: now,
        expires_at: isoAfter(clock, sessionTtlMs),
      })
      .execute()
    await deleteBeyondCeiling(tx, settings.ceilings, 'sessions', link.user_id)
    return token
  })
}

export async function findSessionMember(db: Db, clock: Clock, token: string): Promise<Member | undefined> {
  return db
    .selectFrom('sessions')
    .innerJoin('members', 'members.id', 'sessions.user_id')
    .selectAll('members')
    .where('sessions.token_hash', '=', sha256(token))
    .where('members.active', '=', 1)
    .where('sessions.expires_at', '>', isoAfter(clock, 0))
    .executeTakeFirst()
}

/** Deletes a member's sign-in tokens, sessions and authorization codes. */
export async function deleteSigninCredentials(tx: Db, userId: string): Promise<void> {
  for (const table of ['auth_codes', 'signin_links', 'sessions'] as const) {
    await tx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
}

export async function deleteSession(db: Db, token: string): Promise<void> {
  await db.deleteFrom('sessions').where('token_hash', '=', sha256(token)).execute()
}

const expiringTables = {
  auth_codes: 'code_hash',
  signin_links: 'token_hash',
  sessions: 'token_hash',
} as const

/** More than one, so that expired rows cannot accumulate; few enough to be cheap. */
const deleteBatchSize = 100

/** Called on every insert, so that no timer is needed. */
export async function deleteExpiredRows(
  db: Db,
  clock: Clock,
  table: keyof typeof expiringTables,
): Promise<void> {
  const id = sql.ref(expiringTables[table])
  // Skips locked rows: two nodes that delete the same rows in different orders would deadlock.
  const unlocked = isPostgres(db) ? sql`for update skip locked` : sql``
  await sql`delete from ${sql.table(table)} where ${id} in (select ${id} from ${sql.table(table)}
    where expires_at <= ${isoAfter(clock, 0)} limit ${deleteBatchSize} ${unlocked})`.execute(db)
}
