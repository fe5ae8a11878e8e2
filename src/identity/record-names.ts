import type { Db } from '../platform/db/db.ts'

interface KeyName {
  id: number
  hash: string
  name: string
}

/** Keys of an organization, by number or by hash. Deleted keys have no name. */
export async function findKeys(
  db: Db,
  organizationId: string,
  by: { ids: number[] } | { hashes: string[] },
): Promise<KeyName[]> {
  const query = db
    .selectFrom('api_keys')
    .select(['id', 'hash', 'name'])
    .where('organization_id', '=', organizationId)
  if ('ids' in by) return by.ids.length === 0 ? [] : query.where('id', 'in', by.ids).execute()
  return by.hashes.length === 0 ? [] : query.where('hash', 'in', by.hashes).execute()
}

/** Includes deleted workspaces, whose past usage needs a name. */
export async function listWorkspaceNames(
  db: Db,
  organizationId: string,
  ids: string[],
): Promise<{ id: string; name: string }[]> {
  if (ids.length === 0) return []
  return db
    .selectFrom('workspaces')
    .select(['id', 'name'])
    .where('organization_id', '=', organizationId)
    .where('id', 'in', ids)
    .execute()
}
