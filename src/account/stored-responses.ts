import { sql } from 'kysely'
import type { Statement } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import { badField, fail } from '../errors.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { jsonPieces } from '../lib/long-json.ts'
import { type JsonObject, objectOf } from '../lib/loose.ts'
import type { Vault } from '../lib/secret.ts'
import { nextTurn } from '../lib/turns.ts'
import { chunksOf } from './scim-grants.ts'
import { openPage, readItems, readPage, sealPages } from './stored-pages.ts'

/** Whose responses: another workspace's do not exist. */
export interface Owner {
  organizationId: string
  workspaceId: string
}

/** What the store needs of the gateway. */
export interface Shelf {
  db: Db
  vault: Vault
  clock: Clock
}

export interface NewResponse {
  id: string
  owner: Owner
  previousId: string | null
  body: JsonObject
  input: JsonObject[]
  output: JsonObject[]
  retentionDays: number
}

export const dayMs = 24 * 60 * 60_000

/** A conversation longer than this is no conversation. */
const maxTurns = 5000

/** What may stand in a column that is searched: ids of vendors are, anything else need not be found again. */
export function isItemId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value)
}

/** Written in the transaction that charges for the response: whoever has seen its end can go on from it. */
export async function keptResponse(
  { db, vault, clock }: Shelf,
  response: NewResponse,
): Promise<{ statements: Statement[]; bytes: number }> {
  const { id, owner, input } = response
  const { output: _, ...rest } = response.body
  const items = [...input, ...response.output]
  const { pages, bytes: itemBytes } = await sealPages(vault, id, items)
  const body = await vault.sealPieces(jsonPieces(rest), id)
  const ids = idRows(id, items)
  const bytes =
    body.length +
    pages.reduce((sum, page) => sum + page.items.length + rowBytes, 0) +
    ids.reduce((sum, row) => sum + 2 * row.item_id.length + rowBytes, 0)
  const kept = db.insertInto('stored_responses').values({
    id,
    organization_id: owner.organizationId,
    workspace_id: owner.workspaceId,
    previous_response_id: response.previousId,
    input_count: input.length,
    item_bytes: itemBytes,
    stored_bytes: bytes,
    created_at: isoNow(clock),
    expires_at: new Date(clock.now() + response.retentionDays * dayMs).toISOString(),
    body,
  })
  const queries = [
    kept,
    ...pages.map((page) => db.insertInto('stored_pages').values({ response_id: id, ...page })),
    ...chunksOf(ids, idsAtOnce).map((rows) => db.insertInto('stored_item_ids').values(rows)),
  ]
  const statements = queries
    .map((query) => query.compile())
    .map(({ sql, parameters }) => ({ sql, values: parameters }))
  return { statements, bytes }
}

/** What a row costs beside its texts, its place in an index included. */
const rowBytes = 100
/** Rows in one statement. */
const idsAtOnce = 200

/** Items that came with an id can be found by it; the first one, where an id is there twice. */
function idRows(responseId: string, items: JsonObject[]) {
  const places = new Map<string, number>()
  for (const [position, { id }] of items.entries()) {
    if (isItemId(id) && !places.has(id)) places.set(id, position)
  }
  return [...places].map(([item_id, position]) => ({ item_id, response_id: responseId, position }))
}

/** What came without an id can be referred to by its place; the item itself stays as it was. */
function placeId(responseId: string, position: number): string {
  return `msg_${responseId}_${position}`
}

const placePattern = /^msg_(.+)_(\d{1,9})$/

function placeOf(itemId: string): { response_id: string; position: number } | undefined {
  const [, response_id, position] = placePattern.exec(itemId) ?? []
  return response_id === undefined ? undefined : { response_id, position: Number(position) }
}

export async function findResponse(shelf: Shelf, owner: Owner, id: string): Promise<JsonObject> {
  const row = await requireRow(shelf, owner, id)
  const output = await readItems(shelf, id, row.input_count, Number.MAX_SAFE_INTEGER)
  return { ...objectOf(JSON.parse(shelf.vault.open(row.body, id))), output }
}

/** Without opening its output. */
export async function findStatus(shelf: Shelf, owner: Owner, id: string): Promise<unknown> {
  const { body } = await requireRow(shelf, owner, id)
  return objectOf(JSON.parse(shelf.vault.open(body, id)))?.status
}

async function requireRow(shelf: Shelf, owner: Owner, id: string) {
  const row = await shelf.db
    .selectFrom('stored_responses')
    .select(['body', 'input_count'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(shelf.clock))
    .executeTakeFirst()
  if (!row) throw responseMissing(id)
  return row
}

export async function deleteResponse({ db }: Shelf, owner: Owner, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('stored_responses')
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw responseMissing(id)
}

export interface ItemPage {
  items: JsonObject[]
  hasMore: boolean
}

/** A page of what a response was asked, each item with an id. */
export async function inputItems(
  shelf: Shelf,
  owner: Owner,
  id: string,
  page: { limit: number; order: 'asc' | 'desc'; after?: string | undefined },
): Promise<ItemPage> {
  const { input_count: count } = await requireRow(shelf, owner, id)
  const after = page.after === undefined ? undefined : await positionOf(shelf, id, page.after)
  if (page.after !== undefined && (after === undefined || after >= count))
    throw badField('after', 'is no item of this response')
  const isUp = page.order === 'asc'
  const from = isUp ? (after ?? -1) + 1 : Math.max(0, (after ?? count) - page.limit)
  const to = isUp ? Math.min(count, from + page.limit) : (after ?? count)
  const found = await readItems(shelf, id, from, to)
  const items = found.map((item, place) => ({
    ...item,
    id: isItemId(item.id) ? item.id : placeId(id, from + place),
  }))
  return { items: isUp ? items : items.reverse(), hasMore: isUp ? to < count : from > 0 }
}

async function positionOf({ db }: Shelf, responseId: string, itemId: string): Promise<number | undefined> {
  const place = placeOf(itemId)
  if (place?.response_id === responseId) return place.position
  if (!isItemId(itemId)) return undefined
  const row = await db
    .selectFrom('stored_item_ids')
    .select('position')
    .where('item_id', '=', itemId)
    .where('response_id', '=', responseId)
    .executeTakeFirst()
  return row?.position
}

/** Everything said up to and including a response, oldest first; `maxBytes` is what a request may have. */
export async function conversationOf(
  shelf: Shelf,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<{ items: JsonObject[]; bytes: number }> {
  const { turns, bytes } = await sizeOf(shelf, owner, id)
  if (turns > maxTurns)
    throw badField('previous_response_id', `the conversation has more than ${maxTurns} turns`)
  if (bytes > maxBytes) throw fail('body_too_large', `The conversation is larger than ${maxBytes} bytes.`)
  const rows = await turnsUpTo(shelf, owner, id)
  const oldest = rows[0]
  if (!oldest) throw responseMissing(id)
  if (oldest.previous_response_id !== null) throw responseMissing(oldest.previous_response_id)
  const items: JsonObject[] = []
  for (const [place, row] of rows.entries()) {
    if (place % pagesAtOnce === pagesAtOnce - 1) await nextTurn()
    if (row.items === null) continue
    for (const item of openPage(shelf.vault, row.response_id, row.items)) items.push(item)
  }
  return { items, bytes }
}

/** Pages that are opened before others have a turn: about a megabyte. */
const pagesAtOnce = 16

interface Turn {
  response_id: string
  previous_response_id: string | null
  /** Sealed; null for a response without any items. */
  items: string | null
}

/** The responses a conversation consists of, the newest with age 0. */
function turnsOf({ clock }: Shelf, owner: Owner, id: string) {
  const own = sql`r.organization_id = ${owner.organizationId} and r.workspace_id = ${owner.workspaceId}
    and r.expires_at > ${isoNow(clock)}`
  return sql`with recursive turns (id, previous_response_id, age) as (
      select r.id, r.previous_response_id, 0 from stored_responses r where r.id = ${id} and ${own}
      union all
      select r.id, r.previous_response_id, turns.age + 1
      from stored_responses r join turns on r.id = turns.previous_response_id
      where turns.age <= ${maxTurns} and ${own}
    )`
}

async function sizeOf(shelf: Shelf, owner: Owner, id: string): Promise<{ turns: number; bytes: number }> {
  const { rows } = await sql<{ turns: number; bytes: number }>`${turnsOf(shelf, owner, id)}
    select coalesce(max(turns.age), 0) + 1 as turns, coalesce(sum(stored_responses.item_bytes), 0) as bytes
    from turns join stored_responses on stored_responses.id = turns.id`.execute(shelf.db)
  // Sums come as text from one of the databases.
  return { turns: Number(rows[0]?.turns ?? 0), bytes: Number(rows[0]?.bytes ?? 0) }
}

async function turnsUpTo(shelf: Shelf, owner: Owner, id: string): Promise<Turn[]> {
  const { rows } = await sql<Turn>`${turnsOf(shelf, owner, id)}
    select turns.id as response_id, turns.previous_response_id, stored_pages.items
    from turns left join stored_pages on stored_pages.response_id = turns.id
    order by turns.age desc, stored_pages.first`.execute(shelf.db)
  return rows
}

/**
 * Items that a request refers to by id, as they were stored, one after the other, so that the caller can stop when they
 * become too much. Every page is opened once, and all pages together have at most `maxBytes`.
 */
export async function* findItems(
  shelf: Shelf,
  owner: Owner,
  ids: ReadonlySet<string>,
  maxBytes: number,
): AsyncGenerator<{ id: string; item: JsonObject }> {
  if (ids.size === 0) return
  let page: { responseId: string; first: number; items: JsonObject[] } | undefined
  let bytes = 0
  for (const { item_id, response_id, position } of inOrder(await placesOf(shelf, owner, [...ids]))) {
    if (page?.responseId !== response_id || position >= page.first + page.items.length) {
      await nextTurn()
      const read = await readPage(shelf, response_id, position)
      bytes += read?.bytes ?? 0
      if (bytes > maxBytes) throw fail('body_too_large', tooMuchOpened)
      page = read && { responseId: response_id, ...read }
    }
    const item = page?.items[position - page.first]
    if (item) yield { id: item_id, item }
  }
}

const tooMuchOpened = 'The stored items that input refers to are too large to be read for one request.'

/** Those in one page follow each other. */
function inOrder(places: ItemPlace[]): ItemPlace[] {
  return places.toSorted((a, b) =>
    a.response_id === b.response_id ? a.position - b.position : a.response_id < b.response_id ? -1 : 1,
  )
}

interface ItemPlace {
  item_id: string
  response_id: string
  position: number
}

/** Where items are in the responses of their owner; in the newest one, where an id is in several. */
async function placesOf(shelf: Shelf, owner: Owner, ids: string[]): Promise<ItemPlace[]> {
  const own = sql`r.organization_id = ${owner.organizationId} and r.workspace_id = ${owner.workspaceId}
    and r.expires_at > ${isoNow(shelf.clock)}`
  const { rows: named } =
    await sql<ItemPlace>`select i.item_id, i.response_id, i.position from stored_item_ids i
    join (
      select n.item_id, max(n.response_id) as response_id from stored_item_ids n
      join stored_responses r on r.id = n.response_id
      where n.item_id in (${sql.join(ids)}) and ${own} group by n.item_id
    ) newest on newest.item_id = i.item_id and newest.response_id = i.response_id`.execute(shelf.db)
  const placed = ids.flatMap((id) => {
    const place = placeOf(id)
    return place ? [{ item_id: id, ...place }] : []
  })
  if (placed.length === 0) return named
  const { rows: owned } = await sql<{ id: string }>`select r.id from stored_responses r
    where r.id in (${sql.join(placed.map((place) => place.response_id))}) and ${own}`.execute(shelf.db)
  const known = new Set(owned.map((row) => row.id))
  return [...named, ...placed.filter((place) => known.has(place.response_id))]
}

export async function dropExpiredResponses({ db, clock }: Pick<Shelf, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('stored_responses').where('expires_at', '<=', isoNow(clock)).execute()
}

function responseMissing(id: string) {
  return fail('not_found', `The response "${id.slice(0, 100)}" does not exist or is no longer stored.`)
}
