import type { Db } from '../platform/db/db.ts'

export interface KeyName {
  hash: string
  name: string
}

interface NamedKey extends KeyName {
  id: number
}

/** Keys of an organization, by number or by hash. Deleted keys have no name. */
export async function findKeys(
  db: Db,
  organizationId: string,
  by: { ids: number[] } | { hashes: string[] },
): Promise<NamedKey[]> {
  const query = db
    .selectFrom('api_keys')
    .select(['id', 'hash', 'name'])
    .where('organization_id', '=', organizationId)
  if ('ids' in by) return by.ids.length === 0 ? [] : query.where('id', 'in', by.ids).execute()
  return by.hashes.length === 0 ? [] : query.where('hash', 'in', by.hashes).execute()
}

/** Keys per statement: well below the number of parameters that either database accepts. */
const keysPerStatement = 500

/** The names of any number of keys by id; deleted keys are absent. */
export async function loadKeyNames(
  db: Db,
  organizationId: string,
  ids: readonly number[],
): Promise<Map<number, KeyName>> {
  const names = new Map<number, KeyName>()
  const distinct = [...new Set(ids)]
  for (let at = 0; at < distinct.length; at += keysPerStatement) {
    const keys = await findKeys(db, organizationId, { ids: distinct.slice(at, at + keysPerStatement) })
    for (const { id, hash, name } of keys) names.set(id, { hash, name })
  }
  return names
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
