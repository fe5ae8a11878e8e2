import type { Db } from '../../platform/db/db.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { RollupTimeoutError } from '../rollups/segment-store.ts'
import { readLookup } from './lookup.ts'
import { findKnownPeriod, listPeriods, type Narrowing, narrow } from './narrowing.ts'
import type { LogSelection } from './selection.ts'
import {
  compareNewestFirst,
  firstBatches,
  type LogPage,
  type LogPosition,
  mergeEntries,
  positionOf,
  readLogPage,
} from './walk.ts'

interface PageRequest {
  limit: number
  start: LogPosition | null
}

/** A page ends after this time with what it has. */
const maxMs = 1000

/** A page of the requests that match, newest first, by the shortest way to them. */
export async function searchLog(db: Db, selection: LogSelection, page: PageRequest): Promise<LogPage> {
  const found = await readLookup(db, selection, page)
  if (found) return found
  const narrowing = narrow(selection)
  if (!narrowing) return readLogPage(db, selection, page)
  const newest = await readLogPage(db, selection, { ...page, batches: firstBatches })
  if (newest.last === null || newest.entries.length === page.limit) return newest
  const rest = { limit: page.limit - newest.entries.length, start: newest.last }
  const older = await readNarrowed(db, selection, narrowing, rest)
  return { entries: [...newest.entries, ...older.entries], last: older.last }
}

/** A page that begins behind a position: generations of the times that have some, and rejected requests of all. */
async function readNarrowed(
  db: Db,
  selection: LogSelection,
  narrowing: Narrowing,
  page: PageRequest & { start: LogPosition },
): Promise<LogPage> {
  const none: LogPage = { entries: [], last: null }
  const rejected = selection.refused ? await readLogPage(db, { ...selection, generations: null }, page) : none
  const served = await readPeriods(db, { ...selection, refused: null }, narrowing, page)
  // The page ends where the first of both searches ended.
  const [end = null] = [served.last, rejected.last].filter((last) => last !== null).sort(compareNewestFirst)
  const entries = mergeEntries(
    served.entries.flatMap(({ generation }) => generation ?? []),
    rejected.entries.flatMap(({ refused }) => refused ?? []),
  )
  const reached = entries.filter((entry) => {
    const position = positionOf(entry)
    return end === null || (position !== null && compareNewestFirst(position, end) <= 0)
  })
  const some = reached.slice(0, page.limit)
  return { entries: some, last: some.length === page.limit ? positionOf(some.at(-1)) : end }
}

async function readPeriods(
  db: Db,
  selection: LogSelection,
  narrowing: Narrowing,
  { limit, start }: PageRequest & { start: LogPosition },
): Promise<LogPage> {
  const end = performance.now() + maxMs
  const entries: LogPage['entries'] = []
  const period = await findKnownPeriod(db, selection, Date.parse(start.created_at) + 1)
  if (!period) return { entries, last: null }
  let last: LogPosition = start
  try {
    const found = listPeriods(db, selection.organizationId, narrowing, period)
    for await (const { periods, reached } of found) {
      for (const part of periods) {
        const [from, to] = [toIso(part.from), toIso(part.to)]
        const rest = { limit: limit - entries.length, start }
        const page = await readLogPage(db, { ...selection, from, to }, rest)
        entries.push(...page.entries)
        if (entries.length === limit) return { entries, last: positionOf(entries.at(-1)) }
        if (page.last) return { entries, last: page.last }
        last = { created_at: from, id: '' }
        if (performance.now() > end) return { entries, last }
        await yieldToEventLoop()
      }
      last = { created_at: toIso(reached), id: '' }
    }
  } catch (error) {
    if (!(error instanceof RollupTimeoutError)) throw error
    return { entries, last }
  }
  // Roll-ups do not reach back further.
  return { entries, last: period.isCut ? { created_at: toIso(period.from), id: '' } : null }
}

function toIso(time: number): string {
  return new Date(time).toISOString()
}
