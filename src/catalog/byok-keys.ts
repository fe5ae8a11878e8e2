import type { Selectable } from 'kysely'
import type { ApiKey } from '../identity/keys.ts'
import type { Db } from '../platform/db/db.ts'
import type { ByokKeyTable } from '../platform/db/schema.ts'
import { booleanOf, decodeList } from '../platform/db/values.ts'

/** A BYOK key: encrypted until a request is sent with it. */
export interface ByokKey {
  id: string
  /** The provider's slug. */
  provider: string
  encrypted: string
  /** The provider's origin when the key was entered; null if it was unknown. */
  origin: string | null
  /** Tried after shared capacity. */
  isFallback: boolean
  /** No shared capacity of the provider for the models it applies to. */
  isRequired: boolean
  /** No shared capacity of the provider at all. */
  isByokOnly: boolean
  /** Whether it counts as zero data retention; null: as the endpoint declares. */
  declaredZdr: boolean | null
  /** Null: every model. */
  allowedModels: readonly string[] | null
}

/** The BYOK keys an API key may use, in the order they are tried. */
export async function listByokKeys(db: Db, key: ApiKey): Promise<ByokKey[]> {
  const rows = await db
    .selectFrom('byok_keys')
    .selectAll()
    .where('organization_id', '=', key.organization_id)
    .where((eb) => eb.or([eb('workspace_id', '=', key.workspace_id), eb('workspace_id', 'is', null)]))
    .where('disabled', '=', 0)
    .where('deleted_at', 'is', null)
    .orderBy('sort_order')
    .orderBy('id')
    .execute()
  return rows.flatMap((row) => {
    const isUsable =
      isAllowed(row.allowed_api_key_hashes, key.hash) && isAllowed(row.allowed_user_ids, key.creator_user_id)
    if (!isUsable || row.sealed_key === null) return []
    return [toByokKey(row, row.sealed_key)]
  })
}

export function toByokKey(row: Selectable<ByokKeyTable>, encrypted: string): ByokKey {
  return {
    id: row.id,
    provider: row.provider,
    encrypted,
    origin: row.origin,
    isFallback: row.is_fallback === 1,
    isRequired: row.is_required === 1,
    isByokOnly: row.is_byok_only === 1,
    declaredZdr: booleanOf(row.declared_zdr),
    allowedModels: decodeList(row.allowed_models),
  }
}

function isAllowed(list: string | null, value: string | null): boolean {
  const allowed = decodeList(list)
  return allowed === null || (value !== null && allowed.includes(value))
}

/** A key by its id, for a job that was created with it; undefined once it is deleted. */
export async function findByokKey(db: Db, id: string): Promise<ByokKey | undefined> {
  const row = await db.selectFrom('byok_keys').selectAll().where('id', '=', id).executeTakeFirst()
  return row && row.sealed_key !== null ? toByokKey(row, row.sealed_key) : undefined
}
