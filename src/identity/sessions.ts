import { type DeleteQueryBuilder, type DeleteResult, type Selectable, sql } from 'kysely'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newToken, newUuid } from '../platform/crypto/ids.ts'
import { type Db, isPostgres } from '../platform/db/db.ts'
import type {
  Schema,
  SessionEnd,
  SessionTable,
  SignInLinkTable,
  SignInMethod,
} from '../platform/db/schema.ts'
import type { Clock } from '../platform/time/clock.ts'
import { type Ceilings, deleteBeyondCeiling } from './ceilings.ts'
import { findEnd, forgetOldestEnds, rememberEnds } from './ended-sessions.ts'
import { findActiveMember, type Member } from './members.ts'
import { assertMethodAllowed, isMethodAllowed } from './sign-in-rules.ts'

const signInLinkTtlMs = { link: 60 * 60_000, email: 15 * 60_000 }
/** Precision of the last use of a session, and so of its end. */
const seenIntervalMs = 1000

export type Session = Selectable<SessionTable>
type SignInLink = Selectable<SignInLinkTable>

/** Durations in milliseconds. */
export interface SessionSettings {
  idle_timeout: number
  lifetime: number
}

interface SessionStore {
  clock: Clock
  settings: { ceilings: Ceilings; sessions: SessionSettings }
}

/** The source of a request. */
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

/** A token for a sign-in link, valid once: an hour from the command line, 15 minutes from a mail. */
export async function createSignInToken(
  db: Db,
  clock: Clock,
  userId: string,
  method: SignInLink['method'] = 'link',
): Promise<string> {
  await deleteExpiredRows(db, clock, 'signin_links')
  const token = newToken()
  await db
    .insertInto('signin_links')
    .values({
      token_hash: sha256(token),
      user_id: userId,
      expires_at: isoAfter(clock, signInLinkTtlMs[method]),
      used_at: null,
      method,
    })
    .execute()
  return token
}

/** Mailed links of a member that can still be used. */
export async function countMailedLinks(db: Db, clock: Clock, userId: string): Promise<number> {
  const links = await db
    .selectFrom('signin_links')
    .select('token_hash')
    .where('user_id', '=', userId)
    .where('method', '=', 'email')
    .where('used_at', 'is', null)
    .where('expires_at', '>', isoAfter(clock, 0))
    .execute()
  return links.length
}

/** The member a sign-in token belongs to, without using the token up. */
export async function findSignInMember(
  db: Db,
  clock: Clock,
  token: string,
): Promise<{ member: Member; method: SignInLink['method'] } | undefined> {
  const link = await db
    .selectFrom('signin_links')
    .select(['user_id', 'method'])
    .where('token_hash', '=', sha256(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', isoAfter(clock, 0))
    .executeTakeFirst()
  const member = link && (await findActiveMember(db, link.user_id))
  return member && { member, method: link.method }
}

/** Uses up a sign-in token; false if it is unknown, used or expired. */
export async function claimSignInToken(tx: Db, clock: Clock, token: string): Promise<boolean> {
  const now = isoAfter(clock, 0)
  const result = await tx
    .updateTable('signin_links')
    .set({ used_at: now })
    .where('token_hash', '=', sha256(token))
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/**
 * The new session, and its token, which is stored as a hash. Throws if the organization of the member does not accept
 * the method. Call it in a transaction.
 */
export async function startSession(
  tx: Db,
  store: SessionStore,
  { userId, method, ip, userAgent }: NewSession,
): Promise<{ session: Session; token: string }> {
  const { clock, settings } = store
  await assertMethodAllowed(tx, userId, method)
  await deleteExpiredSessions(tx, store)
  await deleteExpiredRows(tx, clock, 'ended_sessions')
  await forgetOldestEnds(tx, userId)
  const token = newToken()
  const now = isoAfter(clock, 0)
  const session = {
    token_hash: sha256(token),
    id: newUuid(),
    user_id: userId,
    method,
    ip,
    user_agent: userAgent,
    created_at: now,
    last_seen_at: now,
    expires_at: isoAfter(clock, settings.sessions.lifetime),
  }
  await tx.insertInto('sessions').values(session).execute()
  await deleteBeyondCeiling(tx, settings.ceilings, 'sessions', userId)
  return { session, token }
}

/** The session and its member; undefined if either is not active, or the organization requires single sign-on. */
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
  const member = await findActiveMember(db, session.user_id)
  if (!member) return undefined
  // A sign-in that was under way when single sign-on was enforced may have started the session since.
  if (!(await isMethodAllowed(db, member.id, session.method))) return undefined
  if (session.last_seen_at <= isoAfter(clock, -seenIntervalMs)) await recordSeen(db, clock, session)
  return { session, member }
}

/**
 * Explains, in a sentence for the member, why `findSession` finds no session for a token. A token that never had one
 * gets the sentence of one that ended long ago.
 */
export async function explainEndedSession(store: SessionStore & { db: Db }, token: string): Promise<string> {
  const { db, clock } = store
  const session = await db
    .selectFrom('sessions')
    .selectAll()
    .where('token_hash', '=', sha256(token))
    .executeTakeFirst()
  if (!session) return describeEnd(store, await findEnd(db, sha256(token)))
  if (endOfSession(store, session) <= isoAfter(clock, 0)) return describeEnd(store, reasonOf(store, session))
  if (!(await findActiveMember(db, session.user_id)))
    return 'The session has ended: the member is deactivated.'
  return 'The session has ended: your organization requires single sign-on.'
}

function describeEnd({ settings }: SessionStore, reason: SessionEnd | undefined): string {
  const { lifetime, idle_timeout } = settings.sessions
  if (reason === undefined) return 'The session has ended.'
  return {
    signed_out: 'The session has ended: it was signed out.',
    revoked: 'The session has ended: it was ended from another session, or by an admin.',
    idle: `The session has expired: it was idle for ${idle_timeout / 1000} seconds.`,
    expired: `The session has expired: sessions end ${lifetime / 1000} seconds after the sign-in.`,
  }[reason]
}

/** The reason why a session has expired. */
function reasonOf(store: SessionStore, session: Session): SessionEnd {
  return endOfSession(store, session) < session.expires_at ? 'idle' : 'expired'
}

/** Deletes sessions, and remembers why they ended. */
export async function endSessions(
  tx: Db,
  reason: SessionEnd,
  select: (query: SessionDeletion) => SessionDeletion,
): Promise<Session[]> {
  const ended = await select(tx.deleteFrom('sessions')).returningAll().execute()
  await rememberEnds(tx, ended, () => reason)
  return ended
}

type SessionDeletion = DeleteQueryBuilder<Schema, 'sessions', DeleteResult>

async function recordSeen(db: Db, clock: Clock, { token_hash }: Session): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ last_seen_at: isoAfter(clock, 0) })
    .where('token_hash', '=', token_hash)
    .execute()
}

/** Deletes the sign-in links that were mailed to the member. */
export async function deleteMailedLinks(tx: Db, userId: string): Promise<void> {
  await tx.deleteFrom('signin_links').where('user_id', '=', userId).where('method', '=', 'email').execute()
}

/** Deletes a member's sign-in tokens, sessions and authorization codes. */
export async function deleteSignInCredentials(tx: Db, userId: string): Promise<void> {
  for (const table of ['auth_codes', 'signin_links'] as const) {
    await tx.deleteFrom(table).where('user_id', '=', userId).execute()
  }
  await endSessions(tx, 'revoked', (query) => query.where('user_id', '=', userId))
}

/** Signs out. Returns the session that the token had. */
export async function deleteSession(tx: Db, token: string): Promise<Session | undefined> {
  const [ended] = await endSessions(tx, 'signed_out', (query) =>
    query.where('token_hash', '=', sha256(token)),
  )
  return ended
}

/** Lists sessions, newest first, without those that have ended. */
export async function listSessions(
  { db, clock, settings }: SessionStore & { db: Db },
  userId: string,
): Promise<Session[]> {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', isoAfter(clock, 0))
    .where('last_seen_at', '>', isoAfter(clock, -settings.sessions.idle_timeout))
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(settings.ceilings.sessions)
    .execute()
}

/** Deletes sessions of a member: one, all but one, or all. */
export async function deleteSessions(
  tx: Db,
  userId: string,
  which: { id?: string; exceptId?: string | undefined } = {},
): Promise<Session[]> {
  const { id, exceptId } = which
  return endSessions(tx, 'revoked', (query) =>
    query
      .where('user_id', '=', userId)
      .$if(id !== undefined, (one) => one.where('id', '=', id ?? ''))
      .$if(exceptId !== undefined, (others) => others.where('id', '!=', exceptId ?? '')),
  )
}

/** The time at which a session ends if it is not used again. */
export function endOfSession({ settings }: SessionStore, session: Session): string {
  const idleEnd = new Date(Date.parse(session.last_seen_at) + settings.sessions.idle_timeout).toISOString()
  return idleEnd < session.expires_at ? idleEnd : session.expires_at
}

const expiringTables = {
  auth_codes: 'code_hash',
  signin_links: 'token_hash',
  sessions: 'token_hash',
  ended_sessions: 'token_hash',
  sso_used_tokens: 'token_hash',
  used_challenges: 'challenge_hash',
} as const

/** Rows per statement: more than one, so that expired rows cannot accumulate; few enough to be cheap. */
const deleteBatchSize = 100

/** Called on every insert, so that no timer is needed. */
export async function deleteExpiredRows(
  db: Db,
  clock: Clock,
  table: Exclude<keyof typeof expiringTables, 'sessions'>,
): Promise<void> {
  await sql`delete from ${sql.table(table)} where ${selectExpired(db, clock, table)}`.execute(db)
}

/** Deletes sessions, like `deleteExpiredRows`, and stores why they ended. */
async function deleteExpiredSessions(tx: Db, store: SessionStore): Promise<void> {
  const ended = await tx
    .deleteFrom('sessions')
    .where(selectExpired(tx, store.clock, 'sessions'))
    .returningAll()
    .execute()
  const reasons = new Map(ended.map((session) => [session.token_hash, reasonOf(store, session)]))
  await rememberEnds(tx, ended, ({ token_hash }) => reasons.get(token_hash) ?? 'expired')
}

function selectExpired(db: Db, clock: Clock, table: keyof typeof expiringTables) {
  const id = sql.ref(expiringTables[table])
  // Skips locked rows: two nodes that delete the same rows in different orders would deadlock.
  const unlocked = isPostgres(db) ? sql`for update skip locked` : sql``
  return sql<boolean>`${id} in (select ${id} from ${sql.table(table)}
    where expires_at <= ${isoAfter(clock, 0)} limit ${deleteBatchSize} ${unlocked})`
}
