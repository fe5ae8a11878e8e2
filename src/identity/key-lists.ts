import type { Db } from '../platform/db/db.ts'
import type { ApiKeyTable } from '../platform/db/schema.ts'
import { decodeList, encodeList } from '../platform/db/values.ts'
import { invalidFieldError } from '../platform/errors/gateway-error.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'

/** Columns in which records of a workspace list API keys by hash. */
const keyLists = [
  { table: 'destinations', column: 'api_key_hashes' },
  { table: 'byok_keys', column: 'allowed_api_key_hashes' },
] as const

/** Throws unless every hash is that of an inference key of the workspace. */
export async function requireWorkspaceKeys(
  db: Db,
  workspaceId: string | null,
  field: string,
  hashes: readonly string[] | null | undefined,
): Promise<void> {
  if (!hashes?.length) return
  const rows = await db
    .selectFrom('api_keys')
    .select('hash')
    .where('workspace_id', '=', workspaceId ?? '')
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
    .where('hash', 'in', hashes)
    .execute()
  const known = new Set(rows.map(({ hash }) => hash))
  const unknown = hashes.findIndex((hash) => !known.has(hash))
  if (unknown >= 0)
    throw invalidFieldError(`${field}.${unknown}`, `${hashes[unknown]} is not an API key of this workspace`)
}

/**
 * Removes a deleted key from the lists. One that becomes empty stays a list, which allows no key; null would allow all. Call
 * it with the workspace locked, so that no list with the key is created concurrently.
 */
export async function removeFromKeyLists(
  tx: Db,
  clock: Clock,
  { organization_id, hash }: Pick<ApiKeyTable, 'organization_id' | 'hash'>,
): Promise<void> {
  for (const { table, column } of keyLists) {
    const rows = await tx
      .updateTable(table)
      .set((eb) => ({ updated_at: eb.ref('updated_at') }))
      .where('organization_id', '=', organization_id)
      .where(column, 'like', `%"${hash}"%`)
      .returning(['id', `${column} as hashes`])
      .execute()
    for (const { id, hashes } of rows) {
      const rest = decodeList<string>(hashes)?.filter((listed) => listed !== hash)
      const changes = { [column]: encodeList(rest), updated_at: isoNow(clock) }
      await tx.updateTable(table).set(changes).where('id', '=', id).execute()
    }
  }
}
