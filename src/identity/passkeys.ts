import type { Selectable } from 'kysely'
import { sha256 } from '../platform/crypto/crypto.ts'
import { newUuid } from '../platform/crypto/ids.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { PasskeyTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { deleteExpiredRows } from './sessions.ts'

export type Passkey = Selectable<PasskeyTable>

export type NewPasskey = Pick<
  Passkey,
  'credential_id' | 'user_id' | 'name' | 'public_key' | 'counter' | 'transports'
>

export async function listPasskeys(db: Db, userId: string): Promise<Passkey[]> {
  return db
    .selectFrom('passkeys')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

export async function findPasskey(db: Db, credentialId: string): Promise<Passkey | undefined> {
  return db.selectFrom('passkeys').selectAll().where('credential_id', '=', credentialId).executeTakeFirst()
}

export async function insertPasskey(tx: Db, clock: Clock, passkey: NewPasskey): Promise<Passkey> {
  const row = { ...passkey, id: newUuid(), created_at: isoNow(clock), last_used_at: null }
  try {
    await tx.insertInto('passkeys').values(row).execute()
  } catch (error) {
    if (isUniqueViolation(error)) throw gatewayError('conflict', 'This passkey is already registered.')
    throw error
  }
  return row
}

export async function deletePasskey(tx: Db, userId: string, id: string): Promise<Passkey | undefined> {
  return tx
    .deleteFrom('passkeys')
    .where('user_id', '=', userId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** Records a use; false if another use was recorded since the passkey was read. */
export async function recordPasskeyUse(
  tx: Db,
  clock: Clock,
  { credential_id, counter }: Passkey,
  newCounter: number,
): Promise<boolean> {
  const result = await tx
    .updateTable('passkeys')
    .set({ counter: newCounter, last_used_at: isoNow(clock) })
    .where('credential_id', '=', credential_id)
    .where('counter', '=', counter)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

/** Uses up a challenge; false if it was answered before. */
export async function claimChallenge(
  tx: Db,
  clock: Clock,
  { challenge, expiresAt }: { challenge: string; expiresAt: number },
): Promise<boolean> {
  await deleteExpiredRows(tx, clock, 'used_challenges')
  const row = { challenge_hash: sha256(challenge), expires_at: new Date(expiresAt).toISOString() }
  const result = await tx
    .insertInto('used_challenges')
    .values(row)
    .onConflict((conflict) => conflict.column('challenge_hash').doNothing())
    .executeTakeFirst()
  return result.numInsertedOrUpdatedRows === 1n
}
