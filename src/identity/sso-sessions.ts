import type { Insertable, Selectable } from 'kysely'
import { sha256 } from '../platform/crypto/crypto.ts'
import type { Db } from '../platform/db/db.ts'
import type { SsoSessionTable } from '../platform/db/schema.ts'
import type { Clock } from '../platform/time/clock.ts'
import { deleteExpiredRows, endSessions } from './sessions.ts'

export type SsoSession = Selectable<SsoSessionTable>

/** Binds a encrypted ID token to its row. */
export function idTokenContext(tokenHash: string): string {
  return `sso_sessions:${tokenHash}`
}

export async function insertSsoSession(tx: Db, session: Insertable<SsoSessionTable>): Promise<void> {
  await tx.insertInto('sso_sessions').values(session).execute()
}

export async function findSsoSession(db: Db, sessionToken: string): Promise<SsoSession | undefined> {
  return db
    .selectFrom('sso_sessions')
    .selectAll()
    .where('token_hash', '=', sha256(sessionToken))
    .executeTakeFirst()
}

/** The session of a browser (`sid`), or all sessions of a person at the provider. Returns the members. */
export async function endSsoSessions(
  tx: Db,
  connectionId: string,
  { sid, subject }: { sid: string | null; subject: string | null },
): Promise<string[]> {
  if (sid === null && subject === null) return []
  const ended = tx
    .selectFrom('sso_sessions')
    .select('token_hash')
    .where('connection_id', '=', connectionId)
    .$if(sid !== null, (query) => query.where('sid', '=', sid))
    .$if(subject !== null, (query) => query.where('subject', '=', subject ?? ''))
  const rows = await endSessions(tx, 'revoked', (query) => query.where('token_hash', 'in', ended))
  return [...new Set(rows.map(({ user_id }) => user_id))]
}

/** All sessions that a connection started. */
export async function endConnectionSessions(tx: Db, connectionId: string): Promise<void> {
  const ended = tx.selectFrom('sso_sessions').select('token_hash').where('connection_id', '=', connectionId)
  await endSessions(tx, 'revoked', (query) => query.where('token_hash', 'in', ended))
}

/** Sessions that a member started with another method. */
export async function endOwnSessions(tx: Db, userId: string): Promise<void> {
  await endSessions(tx, 'revoked', (query) =>
    query.where('method', '!=', 'oidc').where('user_id', '=', userId),
  )
}

/** Sessions that were started with another method by members who have to use single sign-on. */
export async function endOtherSessions(tx: Db, organizationId: string): Promise<void> {
  const exempt = tx
    .selectFrom('sso_break_glass')
    .select('user_id')
    .where('organization_id', '=', organizationId)
  const members = tx
    .selectFrom('members')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('id', 'not in', exempt)
  await endSessions(tx, 'revoked', (query) =>
    query.where('method', '!=', 'oidc').where('user_id', 'in', members),
  )
}

/** False if the token was used before. */
export async function claimToken(tx: Db, clock: Clock, token: string, expiresAt: number): Promise<boolean> {
  await deleteExpiredRows(tx, clock, 'sso_used_tokens')
  const result = await tx
    .insertInto('sso_used_tokens')
    .values({ token_hash: sha256(token), expires_at: new Date(expiresAt).toISOString() })
    .onConflict((conflict) => conflict.column('token_hash').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}
