import type { Db } from '../../db/db.ts'

interface KeyName {
  id: number
  hash: string
  name: string
}

/** Of an organization, by number or by hash. Those that were deleted have no name any more. */
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

/** Deleted ones included: their past has a name. */
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
