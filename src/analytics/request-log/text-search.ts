import type { Gateway } from '../../gateway/gateway.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import { TextMatcher, walkCandidates } from '../../storage/content-search/search-contents.ts'
import type { TextQuery } from '../../storage/content-search/words.ts'
import type { ContentPosition } from '../../storage/stored-contents.ts'
import { buildCondition, isVisible, type LogSelection } from './selection.ts'
import {
  type GenerationRow,
  type LogEntry,
  type LogPage,
  type LogPosition,
  positionOf,
  selectRange,
} from './walk.ts'

export interface TextSearch {
  query: TextQuery
  selection: LogSelection
  /** The requests whose prompts and replies the caller may read. */
  readable: LogSelection['visible']
}

/** Candidates that are looked up at once. */
const batchSize = 50
/** Bounds of one page: candidates whose text is compared, their size in storage, and time. */
const maxCompared = 1000
const maxBytes = 16 * 1024 * 1024
const maxMs = 1500

const afterAll: ContentPosition = { created_at: '9999', generation_id: '' }

/** A page of the requests whose logged prompt or reply has a text, newest first. Bounded, whatever matches. */
export async function findTextPage(
  gateway: Pick<Gateway, 'db' | 'vault' | 'settings'>,
  search: TextSearch,
  { limit, start }: { limit: number; start: LogPosition | null },
): Promise<LogPage> {
  const { selection, query } = search
  if (!selection.generations) return { entries: [], last: null }
  const matcher = new TextMatcher(gateway, query)
  const end = performance.now() + maxMs
  const entries: LogEntry[] = []
  let compared = 0
  const range = { from: selection.from ?? '', before: findStart(selection, start) }
  const batches = walkCandidates(
    gateway,
    { organizationId: selection.organizationId, query, ...range },
    batchSize,
  )
  for await (const { candidates, last, isEnd } of batches) {
    if (isEnd) break
    await yieldToEventLoop()
    for (const row of await readRows(gateway, search, candidates)) {
      compared++
      if (await matcher.matches(row.id)) entries.push({ generation: row, refused: null })
      const isFull = entries.length === limit || compared === maxCompared || matcher.bytes > maxBytes
      if (isFull) return { entries, last: positionOf({ generation: row, refused: null }) }
    }
    if (candidates.length === 0 || performance.now() > end)
      return { entries, last: { created_at: last.created_at, id: last.generation_id } }
  }
  return { entries, last: null }
}

/** The page begins behind the position, and within the period. */
function findStart({ to }: LogSelection, start: LogPosition | null): ContentPosition {
  if (start && (to === null || start.created_at < to))
    return { created_at: start.created_at, generation_id: start.id }
  return to === null ? afterAll : { created_at: to, generation_id: '' }
}

/** The requests among the candidates that the other filters select, and whose text the caller may read. */
async function readRows(
  { db }: Pick<Gateway, 'db'>,
  { selection, readable }: TextSearch,
  candidates: readonly ContentPosition[],
): Promise<GenerationRow[]> {
  if (candidates.length === 0) return []
  const ids = candidates.map(({ generation_id }) => generation_id)
  // First by the ids alone: a planner could read all requests of the organization in the order of their time.
  const candidateRows = db.selectFrom('generations').selectAll().where('id', 'in', ids).limit(ids.length)
  const rows = await db
    .selectFrom(candidateRows.as('generations'))
    .selectAll()
    .where(selectRange(db, selection, { after: null, until: null }, 'generations'))
    .where(buildCondition(selection, selection.generations ?? []))
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
  return rows.filter((row) => isVisible({ visible: readable }, row))
}
