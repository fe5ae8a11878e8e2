import type { Selectable } from 'kysely'
import { type AuditedRequest, transact } from '../../../access/transact.ts'
import { assertWithinCeiling } from '../../../identity/ceilings.ts'
import { type ApiKey, createKey } from '../../../identity/keys.ts'
import { deleteExpiredRows } from '../../../identity/sessions.ts'
import { tryLockWorkspace } from '../../../identity/workspaces.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { AuthCodeTable } from '../../../platform/db/schema.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../../../platform/time/clock.ts'
import type { App } from './codes.ts'

export type AuthCode = Selectable<AuthCodeTable>

const codeTtlMs = 10 * 60_000

/** Creates one record per app and organization, also under concurrent requests. */
export async function findOrCreateApp(
  db: Db,
  clock: Clock,
  organizationId: string,
  app: App,
): Promise<number> {
  const known = await findApp(db, organizationId, app.url)
  if (known !== undefined) return known
  await db
    .insertInto('apps')
    .values({ organization_id: organizationId, ...app, created_at: isoNow(clock) })
    .onConflict((conflict) => conflict.columns(['organization_id', 'url']).doNothing())
    .execute()
  const created = await findApp(db, organizationId, app.url)
  if (created === undefined) throw gatewayError('concurrent_change')
  return created
}

async function findApp(db: Db, organizationId: string, url: string): Promise<number | undefined> {
  const row = await db
    .selectFrom('apps')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('url', '=', url)
    .executeTakeFirst()
  return row?.id
}

type NewAuthCode = Omit<AuthCode, 'code_hash' | 'created_at' | 'expires_at' | 'used_at' | 'key_id'>

/** Stores only the hash of the code. */
export async function saveCode(db: Db, clock: Clock, code: string, input: NewAuthCode): Promise<AuthCode> {
  await deleteExpiredRows(db, clock, 'auth_codes')
  const expires_at = new Date(clock.now() + codeTtlMs).toISOString()
  return db
    .insertInto('auth_codes')
    .values({
      ...input,
      code_hash: sha256(code),
      created_at: isoNow(clock),
      expires_at,
      used_at: null,
      key_id: null,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** A code that has not expired, used or not. */
export async function findCode(db: Db, clock: Clock, code: string): Promise<AuthCode | undefined> {
  return db
    .selectFrom('auth_codes')
    .selectAll()
    .where('code_hash', '=', sha256(code))
    .where('expires_at', '>', isoNow(clock))
    .executeTakeFirst()
}

/** Redeems the code and creates its key; undefined if it was redeemed before. Throws if its owner was deleted. */
export async function redeemCode(request: AuditedRequest, code: AuthCode): Promise<string | undefined> {
  const { clock, settings } = request.gateway
  return transact(request, async (tx, record) => {
    // In the order in which removing members from a workspace locks them.
    await tryLockWorkspace(tx, code.organization_id, code.workspace_id)
    if (!(await markCodeUsed(tx, clock, code))) return undefined
    const { key, secret } = await createKey(tx, clock, {
      organizationId: code.organization_id,
      workspaceId: code.workspace_id,
      kind: 'inference',
      name: code.key_name,
      creatorUserId: code.user_id,
      limit: code.key_limit_nanos,
      limitReset: code.key_limit_reset,
      expiresAt: code.key_expires_at,
    })
    await tx
      .updateTable('auth_codes')
      .set({ key_id: key.id })
      .where('code_hash', '=', code.code_hash)
      .execute()
    await assertWithinCeiling(tx, settings.ceilings, 'keys', code.organization_id)
    record({ action: 'key.create', ...describeKey(key), after: key })
    return secret
  })
}

/** A code redeemed twice was stolen: its key is revoked, because either holder may be the thief. */
export async function revokeKey(request: AuditedRequest, { key_id }: AuthCode): Promise<void> {
  if (key_id === null) return
  await transact(request, async (tx, record) => {
    const after = await tx
      .updateTable('api_keys')
      .set({ disabled: 1, updated_at: isoNow(request.gateway.clock) })
      .where('id', '=', key_id)
      .where('disabled', '=', 0)
      .returningAll()
      .executeTakeFirst()
    if (!after) return
    const details = { reason: 'Its authorization code was used twice.' }
    record({ action: 'key.update', ...describeKey(after), before: { ...after, disabled: 0 }, after, details })
  })
}

/**
 * Describes a key for the audit log. An app that redeems a code sends no credential, so the organization is that of the
 * key.
 */
function describeKey({ hash, name, workspace_id, organization_id }: ApiKey) {
  const target = { type: 'key', id: hash, name }
  return { target, workspaceId: workspace_id, organizationId: organization_id }
}

async function markCodeUsed(tx: Db, clock: Clock, code: AuthCode): Promise<boolean> {
  const now = isoNow(clock)
  const result = await tx
    .updateTable('auth_codes')
    .set({ used_at: now })
    .where('code_hash', '=', code.code_hash)
    .where('used_at', 'is', null)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return result.numUpdatedRows === 1n
}
