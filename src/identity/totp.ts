import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import { encodeBase32 } from '../platform/crypto/base32.ts'
import { sha256, type Vault } from '../platform/crypto/crypto.ts'
import { findTotpStep } from '../platform/crypto/totp.ts'
import type { Db } from '../platform/db/db.ts'
import type { MemberTotpTable } from '../platform/db/schema.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

/** RFC 4226 recommends 160 bits. */
const secretBytes = 20
const recoveryCodeCount = 10
const recoveryCodeBytes = 10

/** Wrong codes before the next one has to wait; the delay doubles with each. */
const freeFailures = 5
const baseDelayMs = 30_000
const maxDelayMs = 60 * 60_000

export type Totp = Selectable<MemberTotpTable>

interface TotpDeps {
  clock: Clock
  vault: Vault
}

const contextOf = (userId: string) => `member_totp/${userId}`

export async function findTotp(db: Db, userId: string): Promise<Totp | undefined> {
  return db.selectFrom('member_totp').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Whether the member must enter a code after the password or the link of a mail. */
export async function requiresCode(db: Db, userId: string): Promise<boolean> {
  return Boolean((await findTotp(db, userId))?.confirmed_at)
}

/** A new secret in base32, without effect until it is confirmed. */
export async function createTotp(tx: Db, { clock, vault }: TotpDeps, userId: string): Promise<string> {
  const secret = randomBytes(secretBytes)
  const row = {
    sealed_secret: vault.encrypt(secret.toString('base64url'), contextOf(userId)),
    last_step: 0,
    failures: 0,
    failed_at: null,
    created_at: isoNow(clock),
  }
  const result = await tx
    .insertInto('member_totp')
    .values({ user_id: userId, confirmed_at: null, ...row })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet(row).where('member_totp.confirmed_at', 'is', null),
    )
    .executeTakeFirst()
  if (result.numInsertedOrUpdatedRows === 0n)
    throw gatewayError('conflict', 'An authenticator app is already set up. Remove it first.')
  return encodeBase32(secret)
}

/**
 * Accepts a code once. Wrong codes are counted in the same transaction, which must be committed. Returns the
 * milliseconds to wait after too many.
 */
export async function acceptTotp(
  tx: Db,
  { clock, vault }: TotpDeps,
  userId: string,
  code: string,
): Promise<{ accepted: boolean; waitMs: number }> {
  const totp = await lockTotp(tx, userId)
  if (!totp) return { accepted: false, waitMs: 0 }
  const now = clock.now()
  const waitMs = resolveWait(totp, now)
  if (waitMs > 0) return { accepted: false, waitMs }
  const secret = Buffer.from(vault.decrypt(totp.sealed_secret, contextOf(userId)), 'base64url')
  const step = findTotpStep(secret, code, { now, usedStep: totp.last_step })
  const change =
    step === undefined
      ? { failures: totp.failures + 1, failed_at: isoNow(clock) }
      : { failures: 0, failed_at: null, last_step: step }
  await tx.updateTable('member_totp').set(change).where('user_id', '=', userId).execute()
  return { accepted: step !== undefined, waitMs: 0 }
}

/** Concurrent guesses are counted one after the other. */
async function lockTotp(tx: Db, userId: string): Promise<Totp | undefined> {
  return tx
    .updateTable('member_totp')
    .set((eb) => ({ failures: eb.ref('failures') }))
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirst()
}

function resolveWait({ failures, failed_at }: Totp, now: number): number {
  if (failures < freeFailures || failed_at === null) return 0
  const delay = Math.min(maxDelayMs, baseDelayMs * 2 ** Math.min(failures - freeFailures, 20))
  return Math.max(0, Date.parse(failed_at) + delay - now)
}

export async function confirmTotp(tx: Db, clock: Clock, userId: string): Promise<void> {
  const confirmed_at = isoNow(clock)
  await tx.updateTable('member_totp').set({ confirmed_at }).where('user_id', '=', userId).execute()
}

/** Deletes TOTP and the recovery codes, which have no use without it. */
export async function deleteTotp(tx: Db, userId: string): Promise<boolean> {
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  const result = await tx.deleteFrom('member_totp').where('user_id', '=', userId).executeTakeFirst()
  return result.numDeletedRows === 1n
}

/** Replaces those the member had. They are stored as hashes. */
export async function createRecoveryCodes(tx: Db, clock: Clock, userId: string): Promise<string[]> {
  await tx.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  const codes = Array.from({ length: recoveryCodeCount }, createRecoveryCode)
  const row = { user_id: userId, used_at: null, created_at: isoNow(clock) }
  const rows = codes.map((code) => ({ ...row, code_hash: hashRecoveryCode(userId, code) }))
  await tx.insertInto('recovery_codes').values(rows).execute()
  return codes
}

function createRecoveryCode(): string {
  const text = encodeBase32(randomBytes(recoveryCodeBytes)).toLowerCase()
  return (text.match(/.{4}/g) ?? []).join('-')
}

function hashRecoveryCode(userId: string, code: string): string {
  return sha256(`${userId}:${code.toLowerCase().replace(/[^a-z2-7]/g, '')}`)
}

/** Uses up a recovery code; false if the member has no such code, or used it. */
export async function claimRecoveryCode(
  tx: Db,
  clock: Clock,
  userId: string,
  code: string,
): Promise<boolean> {
  const result = await tx
    .updateTable('recovery_codes')
    .set({ used_at: isoNow(clock) })
    .where('code_hash', '=', hashRecoveryCode(userId, code))
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}

export async function countRecoveryCodes(db: Db, userId: string): Promise<number> {
  const row = await db
    .selectFrom('recovery_codes')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}
