import type { JWK } from 'jose'
import type { Selectable } from 'kysely'
import type { Vault } from '../platform/crypto/crypto.ts'
import { loadJose } from '../platform/crypto/jose.ts'
import { type Db, isUniqueViolation } from '../platform/db/db.ts'
import type { SigningKeyTable } from '../platform/db/schema.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

export type SigningKey = Selectable<SigningKeyTable>

export interface SigningKeyDeps {
  db: Db
  clock: Clock
  vault: Vault
}

export const signingAlgorithm = 'ES256'
const purpose = 'access_token'
/** Time for which a retired key verifies: longer than any token that it signed is valid. */
const overlapMs = 3600_000

const contextOf = (kid: string) => `signing-key/${kid}`

/** The current key first. */
export async function listSigningKeys(db: Db): Promise<SigningKey[]> {
  return db
    .selectFrom('signing_keys')
    .selectAll()
    .where('purpose', '=', purpose)
    .orderBy('created_at', 'desc')
    .execute()
}

export function isPublished({ retired_at }: SigningKey, now: number): boolean {
  return retired_at === null || Date.parse(retired_at) + overlapMs > now
}

/** The key that signs, generated when it is first needed. */
export async function requireCurrentKey(deps: SigningKeyDeps): Promise<SigningKey> {
  const known = await findCurrentKey(deps.db)
  if (known) return known
  try {
    return await insertKey(deps.db, await generateKey(deps))
  } catch (error) {
    // Another request or node was first.
    const created = isUniqueViolation(error) ? await findCurrentKey(deps.db) : undefined
    if (created) return created
    throw error
  }
}

export function openPrivateKey(vault: Vault, { kid, sealed_private_jwk }: SigningKey): JWK {
  return JSON.parse(vault.decrypt(sealed_private_jwk, contextOf(kid))) as JWK
}

/** Replaces the key that signs. Its predecessors verify for some time, unless they are revoked. */
export async function rotateSigningKey(
  tx: Db,
  deps: Omit<SigningKeyDeps, 'db'>,
  { revoke }: { revoke: boolean },
): Promise<SigningKey> {
  const now = isoNow(deps.clock)
  const expired = new Date(deps.clock.now() - overlapMs).toISOString()
  if (revoke) await tx.deleteFrom('signing_keys').where('purpose', '=', purpose).execute()
  await tx
    .updateTable('signing_keys')
    .set({ retired_at: now })
    .where('purpose', '=', purpose)
    .where('retired_at', 'is', null)
    .execute()
  await tx.deleteFrom('signing_keys').where('retired_at', '<', expired).execute()
  return insertKey(tx, await generateKey(deps))
}

async function findCurrentKey(db: Db): Promise<SigningKey | undefined> {
  return db
    .selectFrom('signing_keys')
    .selectAll()
    .where('purpose', '=', purpose)
    .where('retired_at', 'is', null)
    .executeTakeFirst()
}

async function insertKey(db: Db, key: SigningKey): Promise<SigningKey> {
  return db.insertInto('signing_keys').values(key).returningAll().executeTakeFirstOrThrow()
}

async function generateKey({ clock, vault }: Omit<SigningKeyDeps, 'db'>): Promise<SigningKey> {
  const { calculateJwkThumbprint, exportJWK, generateKeyPair } = await loadJose()
  const pair = await generateKeyPair(signingAlgorithm, { extractable: true })
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(pair.publicKey), exportJWK(pair.privateKey)])
  const kid = await calculateJwkThumbprint(publicJwk)
  return {
    kid,
    purpose,
    public_jwk: JSON.stringify(publicJwk),
    sealed_private_jwk: vault.encrypt(JSON.stringify(privateJwk), contextOf(kid)),
    created_at: isoNow(clock),
    retired_at: null,
  }
}
