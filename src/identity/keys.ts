import { randomBytes } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { Priority } from '../formats/vocabulary.ts'
import { sha256 } from '../platform/crypto/crypto.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { ApiKeyTable, Flag, KeyKind, LimitReset } from '../platform/db/schema.ts'
import { encodeList } from '../platform/db/values.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { removeFromKeyLists } from './key-lists.ts'
import { tryLockMember } from './members.ts'
import type { Permission } from './permissions/permissions.ts'
import { deletePrivateRecords } from './shared-records.ts'
import { tryLockWorkspace } from './workspaces.ts'

export type ApiKey = Selectable<ApiKeyTable>

type KeyOwners = Pick<ApiKey, 'organization_id' | 'workspace_id' | 'creator_user_id'>

export interface NewKey {
  organizationId: string
  workspaceId: string
  kind: KeyKind
  name: string
  creatorUserId?: string | null
  limit?: bigint | null
  limitReset?: LimitReset | null
  includeByokInLimit?: boolean
  expiresAt?: string | null
  disabled?: boolean
  externalUser?: string | null
  externalSecret?: string | null
  /** The tier whose limits apply to it. */
  tier?: string | null
  /** JSON. */
  tagRules?: string | null
  priority?: Priority
  /** The highest priority of a request; null: that of the key. */
  maxPriority?: Priority | null
  /** Permissions of a management key; null if they are not limited. */
  permissions?: readonly Permission[] | null
  workspaceIds?: readonly string[] | null
  /** A secret chosen by the caller; otherwise one is generated. */
  secret?: string
  source?: ApiKey['source']
}

const keyPrefix = 'sk-hg-v1-'

function newSecret(): string {
  return keyPrefix + randomBytes(32).toString('hex')
}

/** Formats a label: enough to recognize a key, far too little to guess it. */
export function formatLabel(secret: string): string {
  if (!secret.startsWith(keyPrefix)) return `${secret.slice(0, 3)}...`
  return `${secret.slice(0, keyPrefix.length + 3)}...${secret.slice(-3)}`
}

/** Stores the hash of a new key. The secret is returned only here. */
export async function createKey(
  db: Db,
  clock: Clock,
  input: NewKey,
): Promise<{ key: ApiKey; secret: string }> {
  if (!db.isTransaction) return db.transaction().execute((tx) => createKey(tx, clock, input))
  if (input.kind === 'inference') {
    await lockKeyOwners(db, {
      organization_id: input.organizationId,
      workspace_id: input.workspaceId,
      creator_user_id: input.creatorUserId ?? null,
    })
  }
  if (input.externalSecret) await rejectKnownSecret(db, input.externalSecret)
  const secret = input.secret ?? newSecret()
  const key = await insertKey(db, clock, input, { hash: sha256(secret), label: formatLabel(secret) })
  return { key, secret }
}

/** The hash of a secret, and what is shown of it. */
export type KeyCredential = Pick<ApiKey, 'hash' | 'label'>

export async function insertKey(
  tx: Db,
  clock: Clock,
  input: NewKey,
  { hash, label }: KeyCredential,
): Promise<ApiKey> {
  try {
    return await tx
      .insertInto('api_keys')
      .values({
        hash,
        organization_id: input.organizationId,
        workspace_id: input.workspaceId,
        kind: input.kind,
        name: input.name,
        label,
        creator_user_id: input.creatorUserId ?? null,
        limit_nanos: input.limit ?? null,
        limit_reset: input.limitReset ?? null,
        include_byok_in_limit: input.includeByokInLimit ? 1 : 0,
        disabled: input.disabled ? 1 : 0,
        expires_at: input.expiresAt ?? null,
        external_user: input.externalUser ?? null,
        external_hash: input.externalSecret ? sha256(input.externalSecret) : null,
        source: input.source ?? 'api',
        tier: input.tier ?? null,
        tag_rules: input.tagRules ?? null,
        priority: input.priority ?? 'normal',
        max_priority: input.maxPriority ?? null,
        permissions: encodeList(input.permissions ?? null),
        workspace_ids: encodeList(input.workspaceIds ?? null),
        created_at: isoNow(clock),
        updated_at: null,
      })
      .returningAll()
      .executeTakeFirstOrThrow()
  } catch (error) {
    if (isUniqueViolation(error)) throw gatewayError('conflict', 'A key with this secret already exists.')
    throw error
  }
}

interface SessionKeyOwner {
  organizationId: string
  workspaceId: string
  userId: string
}

/** The key that accounts for what a member does while signed in. Its secret is never shown. */
export async function findSessionKey(
  db: Db,
  { workspaceId, userId }: SessionKeyOwner,
): Promise<ApiKey | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('creator_user_id', '=', userId)
    .where('workspace_id', '=', workspaceId)
    .where('source', '=', 'session')
    .executeTakeFirst()
}

export async function createSessionKey(db: Db, clock: Clock, owner: SessionKeyOwner): Promise<ApiKey> {
  const { organizationId, workspaceId, userId: creatorUserId } = owner
  const input = { organizationId, workspaceId, creatorUserId, name: 'Signed-in member' }
  try {
    return (await createKey(db, clock, { ...input, kind: 'inference', source: 'session' })).key
  } catch (error) {
    // Another request of the member was first.
    const known = await findSessionKey(db, owner)
    if (known) return known
    throw error
  }
}

/** A secret that is or was a key elsewhere is rejected, even after that key is deleted. */
async function rejectKnownSecret(db: Db, secret: string): Promise<void> {
  if (secret.startsWith(keyPrefix) || (await findKeyBySecret(db, secret))) {
    throw gatewayError('conflict', 'external.api_key: this secret cannot be used; choose a random one.')
  }
}

/** Locks the owners, so that no key is created while a workspace is deleted or a member removed or deactivated. */
export async function lockKeyOwners(tx: Db, key: KeyOwners): Promise<void> {
  if (!(await tryLockWorkspace(tx, key.organization_id, key.workspace_id))) {
    throw gatewayError('conflict', 'The workspace of this key was deleted.')
  }
  if (key.creator_user_id === null) return
  if (!(await tryLockMember(tx, key.organization_id, key.creator_user_id))) {
    throw gatewayError('conflict', 'The member who created this key was removed or is deactivated.')
  }
}

/** The key of a credential in any state: the caller handles disabled keys. */
export async function findKeyBySecret(db: Db, secret: string): Promise<ApiKey | undefined> {
  return findKeyByHash(db, sha256(secret))
}

/** Finds a key by the hash of a secret. Most keys have one secret, whose hash is in a column of its own. */
export async function findKeyByHash(db: Db, hash: string): Promise<ApiKey | undefined> {
  const key = await selectKeys(db, 'hash', hash).executeTakeFirst()
  // A union, because not every planner uses all indexes for an OR.
  return (
    key ??
    selectKeys(db, 'secret_hash', hash)
      .unionAll(selectKeys(db, 'previous_hash', hash))
      .unionAll(selectKeys(db, 'external_hash', hash))
      .executeTakeFirst()
  )
}

/** Whether a secret that was once valid was replaced by a rotation, and its overlap has passed. */
export function isRetiredSecret(key: ApiKey, secret: string, now: number): boolean {
  if (key.secret_hash === null) return false
  const hash = sha256(secret)
  if (hash === key.secret_hash || hash === key.external_hash) return false
  return hash !== key.previous_hash || Date.parse(key.previous_valid_until ?? '') <= now
}

/**
 * Gives a key another secret, which is returned only here. The one before stays valid for `overlapMs`; a still
 * older one ends now.
 */
export async function rotateKey(
  tx: Db,
  clock: Clock,
  { id, hash, secret_hash }: ApiKey,
  overlapMs: number,
): Promise<{ key: ApiKey; secret: string }> {
  const secret = newSecret()
  const hasOverlap = overlapMs > 0
  const key = await tx
    .updateTable('api_keys')
    .set({
      label: formatLabel(secret),
      secret_hash: sha256(secret),
      previous_hash: hasOverlap ? (secret_hash ?? hash) : null,
      previous_valid_until: hasOverlap ? new Date(clock.now() + overlapMs).toISOString() : null,
      updated_at: isoNow(clock),
    })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  return { key, secret }
}

/** Undefined once it is deleted. */
export async function findKeyById(db: Db, id: number): Promise<ApiKey | undefined> {
  return db.selectFrom('api_keys').selectAll().where('id', '=', id).executeTakeFirst()
}

/** The names of keys in the API, by their numbers. */
export async function loadHashesOfKeys(db: Db, ids: readonly number[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('api_keys').select(['id', 'hash']).where('id', 'in', ids).execute()
  return new Map(rows.map(({ id, hash }) => [String(id), hash]))
}

function selectKeys(
  db: Db,
  column: 'hash' | 'secret_hash' | 'previous_hash' | 'external_hash',
  hash: string,
) {
  return db.selectFrom('api_keys').selectAll().where(column, '=', hash)
}

export async function findKey(db: Db, organizationId: string, hash: string): Promise<ApiKey | undefined> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('hash', '=', hash)
    .executeTakeFirst()
}

/** Usable keys: neither disabled nor expired. Those of sessions are not counted. */
export async function countActiveKeys(
  db: Db,
  clock: Clock,
  scope: { workspaceId: string; creatorUserIds?: string[] },
): Promise<number> {
  // Expiry is stored as sent, with or without a fraction: whole seconds compare correctly with both.
  const thisSecond = isoNow(clock).slice(0, 19)
  let query = db
    .selectFrom('api_keys')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('workspace_id', '=', scope.workspaceId)
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
    .where('disabled', '=', 0)
    .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', thisSecond)]))
  if (scope.creatorUserIds) query = query.where('creator_user_id', 'in', scope.creatorUserIds)
  return (await query.executeTakeFirstOrThrow()).count
}

/** Returns how many keys it disabled. */
export async function disableKeys(
  db: Db,
  clock: Clock,
  scope: { workspaceId: string } | { creatorUserId: string },
): Promise<number> {
  const [column, value] =
    'workspaceId' in scope
      ? (['workspace_id', scope.workspaceId] as const)
      : (['creator_user_id', scope.creatorUserId] as const)
  const { numUpdatedRows } = await db
    .updateTable('api_keys')
    .set({ disabled: 1, updated_at: isoNow(clock) })
    .where(column, '=', value)
    .where('kind', '=', 'inference')
    .where('disabled', '=', 0)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

/** A deactivated member's keys are rejected while the member is inactive; `disabled` is set by users. */
export async function setKeysSuspended(db: Db, creatorUserId: string, suspended: Flag): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ suspended })
    .where('creator_user_id', '=', creatorUserId)
    .where('kind', '=', 'inference')
    .where('suspended', '!=', suspended)
    .execute()
}

/** Each key then has to be enabled by a user, except those of sessions, which are not managed. */
export async function disableSuspendedKeys(db: Db, clock: Clock, creatorUserId: string): Promise<void> {
  await db
    .updateTable('api_keys')
    .set({ disabled: 1, updated_at: isoNow(clock) })
    .where('creator_user_id', '=', creatorUserId)
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
    .where('suspended', '=', 1)
    .where('disabled', '=', 0)
    .execute()
}

/** Deletes a key and removes it from the records that list it. Call it in a transaction. */
export async function deleteKey(tx: Db, clock: Clock, key: ApiKey): Promise<boolean> {
  if (key.kind === 'inference') await tryLockWorkspace(tx, key.organization_id, key.workspace_id)
  const { numDeletedRows } = await tx.deleteFrom('api_keys').where('id', '=', key.id).executeTakeFirst()
  if (key.kind === 'inference') await removeFromKeyLists(tx, clock, key)
  else await deletePrivateRecords(tx, `key ${key.id}`)
  return numDeletedRows > 0n
}

/** Lists keys of both kinds, newest first, for the operator. */
export async function listOrganizationKeys(db: Db, organizationId: string): Promise<ApiKey[]> {
  return db
    .selectFrom('api_keys')
    .selectAll()
    .where('organization_id', '=', organizationId)
    .orderBy('id', 'desc')
    .execute()
}
