import { type RawBuilder, sql } from 'kysely'
import { findKeysByHashPrefix, searchKeys } from '../../../identity/key-search.ts'
import type { ApiKey } from '../../../identity/keys.ts'
import type { Scope } from '../../../identity/permissions/grant.ts'
import type { Db } from '../../../platform/db/db.ts'
import { type FoundRow, isOneOf, type TextSearch } from './tables.ts'

/** Prefix of a hash, long enough that few keys share it and all of them can be read. */
const hashPrefix = /^[0-9a-f]{6,64}$/

interface FoundKeys {
  rows: FoundRow[]
  isComplete: boolean
}

/** Finds keys by the beginning of their hash, and by any part of their name or label. */
export async function findKeys(
  db: Db,
  { organizationId, scope, text, limit }: TextSearch,
): Promise<FoundKeys> {
  const filter = isVisible(scope)
  if (!filter) return { rows: [], isComplete: true }
  const prefix = text.toLowerCase()
  const byHash = hashPrefix.test(prefix)
    ? await findKeysByHashPrefix(db, { organizationId, prefix, filter, limit })
    : []
  const { keys, isComplete } = await searchKeys(db, { organizationId, text, filter, offset: 0, limit })
  const unique = new Map([...byHash, ...keys].map((key) => [key.hash, key]))
  return { rows: [...unique.values()].slice(0, limit).map(toRow), isComplete }
}

/** Null: the caller may see none. */
function isVisible({ everywhere, workspaceIds, own }: Scope): RawBuilder<boolean> | null {
  if (everywhere) return sql<boolean>`1 = 1`
  const inWorkspaces = isOneOf('workspace_id', workspaceIds)
  if (!own || own.workspaceIds.size === 0) return workspaceIds.size === 0 ? null : inWorkspaces
  return sql<boolean>`(${inWorkspaces}
    or (creator_user_id = ${own.userId} and ${isOneOf('workspace_id', own.workspaceIds)}))`
}

function toRow({ hash, name, label, workspace_id }: ApiKey): FoundRow {
  return { id: hash, name, description: label, workspace_id }
}
