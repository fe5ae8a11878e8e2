import { type Selectable, sql } from 'kysely'
import { type Db, isPostgres } from '../db/db.ts'
import type { SessionTable, SignInMethod } from '../db/schema.ts'
import type { Clock } from '../lib/clock.ts'
import { sha256 } from '../lib/crypto.ts'
import { newToken, newUuid } from '../lib/ids.ts'
import { type Ceilings, deleteBeyondCeiling } from './ceilings.ts'
import type { Member } from './members.ts'

const signinLinkTtlMs = 60 * 60_000
/** How precisely the last use of a session is known. */
const seenIntervalMs = 60_000

export type Session = Selectable<SessionTable>

/** In milliseconds. */
export interface SessionSettings {
  idle_timeout: number
  lifetime: number
}

interface SessionStore {
  clock: Clock
  settings: { ceilings: Ceilings; sessions: SessionSettings }
}

/** Where a request came from. */
export interface RequestSource {
  ip: string | null
  userAgent: string | null
}

export interface NewSession extends RequestSource {
  userId: string
  method: SignInMethod
}

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

/** Returns the token of the new session, which is stored as a hash. Call it in a transaction. */
export async function startSession(
  tx: Db,
  { clock, settings }: SessionStore,
  { userId, method, ip, userAgent }: NewSession,
): Promise<string> {
  await deleteExpiredRows(tx, clock, 'sessions')
  const token = newToken()
  const now = isoAfter(clock, 0)
  await tx
    .insertInto('sessions')
    .values({
      token_hash: sha256(token),
      id: newUuid(),
      user_id: userId,
      method,
      ip,
      user_agent: userAgent,
      created_at: now,
      last_seen_at: now,
      expires_at: isoAfter(clock, settings.sessions.lifetime),
    })
    .execute()
  await deleteBeyondCeiling(tx, settings.ceilings, 'sessions', userId)
  return token
}

/** Exchanges a sign-in token for a session token; undefined if it is unknown, used or expired. */
export async function createSession(
  store: SessionStore & { db: Db },
  signinToken: string,
  source: RequestSource = { ip: null, userAgent: null },
): Promise<string | undefined> {
  const { db, clock } = store
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
    return startSession(tx, store, { userId: link.user_id, method: 'link', ...source })
  })
}

/** The session and its member; undefined if either is not active. */
export async function findSession(
  { db, clock, settings }: SessionStore & { db: Db },
  token: string,
): Promise<{ session: Session; member: Member } | undefined> {
  const session = await db
    .selectFrom('sessions')
    .selectAll()
    .where('token_hash', '=', sha256(token))
    .where('expires_at', '>', isoAfter(clock, 0))
    .where('last_seen_at', '>', isoAfter(clock, -settings.sessions.idle_timeout))
    .executeTakeFirst()
  if (!session) return undefined
  const member = await db
    .selectFrom('members')
    .selectAll()
    .where('id', '=', session.user_id)
    .where('active', '=', 1)
    .executeTakeFirst()
  if (!member) return undefined
  if (session.last_seen_at < isoAfter(clock, -seenIntervalMs)) await recordSeen(db, clock, session)
  return { session, member }
}

async function recordSeen(db: Db, clock: Clock, { token_hash }: Session): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: isoAfter(clock, 0) })
    .where('token_hash', '=', token_hash)
    .execute()
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
