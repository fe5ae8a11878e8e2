import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { containsText } from '../platform/db/contains-text.ts'
import type { Db } from '../platform/db/db.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import type { ApiKey } from './keys.ts'

/** The keys that are examined at once, in an index that has their names. Takes about two milliseconds. */
const batchSize = 2000
/** Maximum keys of one search: names are compared one by one. */
export const maxExaminedKeys = 200_000

export interface KeySearch {
  organizationId: string
  /** Text to find in the name or the label. */
  text: string
  /** Condition of keys that may be seen. */
  filter: RawBuilder<boolean>
  offset: number
  limit: number
}

/** Inference keys that match, newest first; not those of sessions. */
export async function searchKeys(
  db: Db,
  { organizationId, text, filter, offset, limit }: KeySearch,
): Promise<{ keys: ApiKey[]; isComplete: boolean }> {
  const matching = sql<boolean>`${containsText(['name', 'label'], text)} and ${filter}`
  const ids: number[] = []
  let before: number | null = null
  for (let examined = 0; examined < maxExaminedKeys && ids.length < offset + limit; examined += batchSize) {
    const missing = offset + limit - ids.length
    ids.push(...(await readMatching(db, organizationId, { before, matching, limit: missing })))
    before = await findBatchEnd(db, organizationId, before)
    if (before === null) return { keys: await loadKeys(db, ids.slice(offset)), isComplete: true }
    await yieldToEventLoop()
  }
  return { keys: await loadKeys(db, ids.slice(offset)), isComplete: ids.length === offset + limit }
}

const maxSharingPrefix = 1000

interface HashSearch {
  organizationId: string
  /** Hexadecimal digits in lower case. */
  prefix: string
  filter: RawBuilder<boolean>
  limit: number
}

/** Inference keys whose hash begins like this; not those of sessions. */
export function findKeysByHashPrefix(
  db: Db,
  { organizationId, prefix, filter, limit }: HashSearch,
): Promise<ApiKey[]> {
  // First by the hash alone, or a planner would read all keys of the organization.
  const sharing = db
    .selectFrom('api_keys')
    .selectAll()
    .where('hash', '>=', prefix)
    .where('hash', '<', endOfPrefix(prefix))
    .orderBy('hash')
    .limit(maxSharingPrefix)
  return db
    .selectFrom(sharing.as('sharing'))
    .selectAll()
    .where('organization_id', '=', organizationId)
    .where('kind', '=', 'inference')
    .where('source', '!=', 'session')
    .where(filter)
    .limit(limit)
    .execute()
}

/** The first text after all that begin with the prefix, in the order of any collation. */
function endOfPrefix(prefix: string): string {
  const digits = '0123456789abcdefg'
  return prefix.slice(0, -1) + digits.charAt(digits.indexOf(prefix.at(-1) ?? '') + 1)
}

function selectRange(organizationId: string, before: number | null): RawBuilder<SqlBool> {
  const range = sql<SqlBool>`organization_id = ${organizationId} and kind = 'inference'`
  return before === null ? range : sql<SqlBool>`${range} and id < ${before}`
}

/** The number of the last key of the next batch; null if the rest is shorter than one. */
async function findBatchEnd(db: Db, organizationId: string, before: number | null): Promise<number | null> {
  const last = await db
    .selectFrom('api_keys')
    .select('id')
    .where(selectRange(organizationId, before))
    .orderBy('id', 'desc')
    .limit(1)
    .offset(batchSize - 1)
    .executeTakeFirst()
  return last?.id ?? null
}

interface MatchRange {
  before: number | null
  matching: RawBuilder<boolean>
  limit: number
}

async function readMatching(
  db: Db,
  organizationId: string,
  { before, matching, limit }: MatchRange,
): Promise<number[]> {
  // The limit keeps planners from using an index of another column for the conditions.
  const batch = db
    .selectFrom('api_keys')
    .select(['id', 'name', 'label', 'source', 'disabled', 'workspace_id', 'creator_user_id'])
    .where(selectRange(organizationId, before))
    .orderBy('id', 'desc')
    .limit(batchSize)
  const rows = await db
    .selectFrom(batch.as('batch'))
    .select('id')
    .where('source', '!=', 'session')
    .where(matching)
    .orderBy('id', 'desc')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

async function loadKeys(db: Db, ids: readonly number[]): Promise<ApiKey[]> {
  if (ids.length === 0) return []
  return db.selectFrom('api_keys').selectAll().where('id', 'in', ids).orderBy('id', 'desc').execute()
}
