import type { Db } from '../../platform/db/db.ts'
import { hasIndexedId } from './indexed-id.ts'
import { buildCondition, type IndexedId, type LogSelection } from './selection.ts'
import {
  compareNewestFirst,
  isInPeriod,
  type LogEntry,
  type LogPage,
  type LogPosition,
  type LogTable,
  mergeEntries,
  positionOf,
} from './walk.ts'

/** Requests that one id may have. More are searched by time: clients and providers that repeat an id use it often. */
const maxFound = 1000
const rowsPerQuery = 100

/** A page of the requests with an id, newest first; null if too many have it. */
export async function readLookup(
  db: Db,
  selection: LogSelection,
  { limit, start }: { limit: number; start: LogPosition | null },
): Promise<LogPage | null> {
  const positions = await findPositions(db, selection)
  if (!positions) return null
  const behind = start ? positions.filter((position) => compareNewestFirst(start, position) < 0) : positions
  const entries: LogEntry[] = []
  for (let at = 0; at < behind.length && entries.length < limit; at += rowsPerQuery)
    entries.push(...(await readEntries(db, selection, behind.slice(at, at + rowsPerQuery))))
  const page = entries.slice(0, limit)
  return { entries: page, last: page.length === limit ? positionOf(page.at(-1)) : null }
}

/** All requests with an id; null if too many have it. */
export async function findLookup(db: Db, selection: LogSelection): Promise<LogEntry[] | null> {
  return (await readLookup(db, selection, { limit: maxFound, start: null }))?.entries ?? null
}

/** Null if there are too many. */
async function findPositions(db: Db, selection: LogSelection): Promise<LogPosition[] | null> {
  const { generations, refused, indexedId } = selection
  // A session is read in the order of its index.
  if (!indexedId || indexedId.column === 'session_id') return null
  const found = await Promise.all([
    generations ? findInTable(db, 'generations', indexedId) : [],
    refused ? findInTable(db, 'refused_requests', indexedId) : [],
  ])
  const rows = found.flat()
  if (rows.length > maxFound) return null
  return rows
    .filter((row) => row.organization_id === selection.organizationId && isInPeriod(selection, row))
    .sort(compareNewestFirst)
}

/** Of all organizations: those of one would be searched for among the rows of others without a bound. */
function findInTable(db: Db, table: LogTable, id: IndexedId) {
  return db
    .selectFrom(table)
    .select(['id', 'organization_id', 'created_at'])
    .where(hasIndexedId(db, id))
    .limit(maxFound + 1)
    .execute()
}

async function readEntries(
  db: Db,
  selection: LogSelection,
  positions: readonly LogPosition[],
): Promise<LogEntry[]> {
  const ids = positions.map(({ id }) => id)
  const { generations, refused } = selection
  const [served, rejected] = await Promise.all([
    generations
      ? db
          .selectFrom('generations')
          .selectAll()
          .where('id', 'in', ids)
          .where(buildCondition(selection, generations))
          .execute()
      : [],
    refused
      ? db
          .selectFrom('refused_requests')
          .selectAll()
          .where('id', 'in', ids)
          .where(buildCondition(selection, refused))
          .execute()
      : [],
  ])
  return mergeEntries(
    served.filter(({ status }) => !selection.isUnsuccessful || status !== 'completed'),
    rejected,
  )
}
