import { sql } from 'kysely'
import { type Db, isPostgres } from '../../platform/db/db.ts'
import { yieldToEventLoop } from '../../platform/time/time-slicer.ts'
import type { ContentPosition } from '../stored-contents.ts'

/** A content with the hashes of its words. */
export interface IndexedContent extends ContentPosition {
  hashes: readonly number[]
}

/** Contents that were not indexed yet, the newest first. */
export async function readUnindexed(db: Db, limit: number) {
  return db
    .selectFrom('generation_contents')
    .select(['generation_id', 'organization_id', 'created_at'])
    .select(['sealed_content', 'pack', 'pack_offset', 'pack_length'])
    .where('search_entry', 'is', null)
    .orderBy('created_at', 'desc')
    .limit(limit)
    .execute()
}

/** Adds contents to the index. `tx` is a transaction. */
export async function insertIndexed(tx: Db, contents: readonly IndexedContent[]): Promise<void> {
  // The full-text table of SQLite begins a new part of its index for a number that is not after the last one.
  for (const content of contents.toSorted(compareNewestFirst).reverse())
    if (isPostgres(tx)) await insertOnPostgres(tx, content)
    else await insertOnSqlite(tx, content)
}

/** Pages that are merged after each transaction: enough to keep up, and few enough to take a millisecond or two. */
const mergedPages = 8

/** Merges parts of the index on SQLite. In a transaction of its own, so that the event loop is held for less time. */
export async function mergeIndex(db: Db): Promise<void> {
  if (isPostgres(db)) return
  await yieldToEventLoop()
  await sql`insert into content_words (content_words, rank) values ('merge', ${mergedPages})`.execute(db)
}

async function insertOnPostgres(tx: Db, { generation_id, hashes }: IndexedContent): Promise<void> {
  await sql`update generation_contents set search_entry = ${toArray(hashes)}
    where generation_id = ${generation_id} and search_entry is null`.execute(tx)
}

/** Entries of a millisecond that have numbers of their own. */
const entriesPerMs = 1024n
/** Contents of one millisecond that a page of entries may cut. */
const maxSameMs = 64

/** Entries are numbered by time, so that the newest are found first. */
async function insertOnSqlite(tx: Db, content: IndexedContent): Promise<void> {
  const first = firstEntryOf(content.created_at)
  const { rows } = await sql<{
    last: bigint | number | null
  }>`select max(search_entry) as last from generation_contents
    where search_entry >= ${first} and search_entry < ${first + entriesPerMs}`.execute(tx)
  const entry = BigInt(rows[0]?.last ?? first - 1n) + 1n
  const { numAffectedRows } = await sql`update generation_contents set search_entry = ${entry}
    where generation_id = ${content.generation_id} and search_entry is null`.execute(tx)
  if (numAffectedRows === 0n) return
  const words = content.hashes.map(toToken).join(' ')
  await sql`insert into content_words (rowid, words) values (${entry}, ${words})`.execute(tx)
}

function firstEntryOf(time: string): bigint {
  return BigInt(Date.parse(time)) * entriesPerMs
}

function toToken(hash: number): string {
  return (hash >>> 0).toString(36)
}

function toArray(hashes: readonly number[]) {
  return sql`cast(${`{${hashes.join(',')}}`} as integer[])`
}

/** The contents of a period that are searched. */
export interface IndexRange {
  organizationId: string
  /** Inclusive. */
  from: string
  before: ContentPosition
}

/** The newest content of a period; null if there is none. */
export async function findNewestContent(
  db: Db,
  { organizationId, from, before }: IndexRange,
): Promise<ContentPosition | null> {
  const row = await db
    .selectFrom('generation_contents')
    .select(['created_at', 'generation_id'])
    .where('organization_id', '=', organizationId)
    .where('created_at', '>=', from)
    .where(sql<boolean>`(created_at, generation_id) < (${before.created_at}, ${before.generation_id})`)
    .orderBy('created_at', 'desc')
    .orderBy('generation_id', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row ?? null
}

/** Contents of one day that have words with all of these hashes, newest first. */
export function findByHashes(
  db: Db,
  range: IndexRange,
  hashes: readonly number[],
  limit: number,
): Promise<ContentPosition[]> {
  return isPostgres(db) ? findOnPostgres(db, range, hashes, limit) : findOnSqlite(db, range, hashes, limit)
}

async function findOnPostgres(
  db: Db,
  { organizationId, from, before }: IndexRange,
  hashes: readonly number[],
  limit: number,
): Promise<ContentPosition[]> {
  const { rows } = await sql<ContentPosition>`select created_at, generation_id from generation_contents
    where search_entry @> ${toArray(hashes)} and organization_id = ${organizationId} and created_at >= ${from}
      and (created_at, generation_id) < (${before.created_at}, ${before.generation_id})
    order by created_at desc, generation_id desc limit ${limit}`.execute(db)
  return rows
}

/**
 * Whole milliseconds are read, because their entries are not in the order of the ids. The plus signs keep SQLite from
 * searching the contents by their time for each word.
 */
async function findOnSqlite(
  db: Db,
  { organizationId, from, before }: IndexRange,
  hashes: readonly number[],
  limit: number,
): Promise<ContentPosition[]> {
  const words = hashes.map(toToken).join(' ')
  const last = firstEntryOf(before.created_at) + entriesPerMs
  const { rows } = await sql<ContentPosition>`select created_at, generation_id
    from content_words cross join generation_contents on search_entry = content_words.rowid
    where content_words match ${words} and content_words.rowid >= ${firstEntryOf(from)} and content_words.rowid < ${last}
      and +organization_id = ${organizationId}
      and (+created_at, +generation_id) < (${before.created_at}, ${before.generation_id})
    order by content_words.rowid desc limit ${limit + maxSameMs}`.execute(db)
  const sorted = rows.sort(compareNewestFirst)
  const end = sorted[limit - 1]
  return end ? sorted.filter(({ created_at }, at) => at < limit || created_at === end.created_at) : sorted
}

function compareNewestFirst(a: ContentPosition, b: ContentPosition): number {
  if (a.created_at !== b.created_at) return a.created_at < b.created_at ? 1 : -1
  return a.generation_id < b.generation_id ? 1 : -1
}

export function readSealed(db: Db, generationId: string) {
  return db
    .selectFrom('generation_contents')
    .select(['sealed_content', 'pack', 'pack_offset', 'pack_length'])
    .where('generation_id', '=', generationId)
    .executeTakeFirst()
}
