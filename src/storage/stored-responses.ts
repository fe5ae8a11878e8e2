import { sql } from 'kysely'
import { splitIntoChunks } from '../identity/scim-grants.ts'
import type { Vault } from '../platform/crypto/crypto.ts'
import type { Statement } from '../platform/db/batch.ts'
import type { Db } from '../platform/db/db.ts'
import { gatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../platform/json/json-values.ts'
import { encodeJsonChunks } from '../platform/json/long-json.ts'
import { type Clock, isoNow } from '../platform/time/clock.ts'
import { yieldToEventLoop } from '../platform/time/time-slicer.ts'
import { encryptPages, openPage, readItems, readPage } from './stored-pages.ts'

/** The owner of responses: those of other workspaces count as absent. */
export interface Owner {
  organizationId: string
  workspaceId: string
}

/** The parts of the gateway the store uses. */
export interface StoreContext {
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

/** The maximum number of responses in a conversation. */
const maxTurns = 5000

/** Ids that are indexed: the form of vendors' ids; others need not be found again. */
export function isItemId(value: unknown): value is string {
  return typeof value === 'string' && /^[\w.:-]{1,200}$/.test(value)
}

/** Written in the settlement's transaction: a client that received the end of the reply can refer to the response. */
export async function buildResponseStatements(
  { db, vault, clock }: StoreContext,
  response: NewResponse,
): Promise<{ statements: Statement[]; bytes: number }> {
  const { id, owner, input } = response
  const { output: _, ...rest } = response.body
  const items = [...input, ...response.output]
  const { pages, bytes: itemBytes } = await encryptPages(vault, id, items)
  const body = await vault.encryptChunks(encodeJsonChunks(rest), id)
  const ids = buildIdRows(id, items)
  const bytes =
    body.length +
    pages.reduce((sum, page) => sum + page.items.length + rowOverheadBytes, 0) +
    ids.reduce((sum, row) => sum + 2 * row.item_id.length + rowOverheadBytes, 0)
  const insertResponse = db.insertInto('stored_responses').values({
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
    insertResponse,
    ...pages.map((page) => db.insertInto('stored_pages').values({ response_id: id, ...page })),
    ...splitIntoChunks(ids, idsPerStatement).map((rows) => db.insertInto('stored_item_ids').values(rows)),
  ]
  const statements = queries
    .map((query) => query.compile())
    .map(({ sql, parameters }) => ({ sql, values: parameters }))
  return { statements, bytes }
}

/** The overhead of a row and its index entry. */
const rowOverheadBytes = 100
const idsPerStatement = 200

/** Indexes the items that have an id; the first one if an id occurs twice. */
function buildIdRows(responseId: string, items: JsonObject[]) {
  const positions = new Map<string, number>()
  for (const [position, { id }] of items.entries()) {
    if (isItemId(id) && !positions.has(id)) positions.set(id, position)
  }
  return [...positions].map(([item_id, position]) => ({ item_id, response_id: responseId, position }))
}

/** An item without an id is referred to by its position; the item itself stays unchanged. */
function formatPositionId(responseId: string, position: number): string {
  return `msg_${responseId}_${position}`
}

const positionIdPattern = /^msg_(.+)_(\d{1,9})$/

function parsePositionId(itemId: string): { response_id: string; position: number } | undefined {
  const [, response_id, position] = positionIdPattern.exec(itemId) ?? []
  return response_id === undefined ? undefined : { response_id, position: Number(position) }
}

export async function findResponse(store: StoreContext, owner: Owner, id: string): Promise<JsonObject> {
  const row = await requireResponseRow(store, owner, id)
  const output = await readItems(store, id, row.input_count, Number.MAX_SAFE_INTEGER)
  return { ...asObject(JSON.parse(store.vault.decrypt(row.body, id))), output }
}

/** Finds the status without opening the output. */
export async function findResponseStatus(store: StoreContext, owner: Owner, id: string): Promise<unknown> {
  const { body } = await requireResponseRow(store, owner, id)
  return asObject(JSON.parse(store.vault.decrypt(body, id)))?.status
}

async function requireResponseRow(store: StoreContext, owner: Owner, id: string) {
  const row = await store.db
    .selectFrom('stored_responses')
    .select(['body', 'input_count'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(store.clock))
    .executeTakeFirst()
  if (!row) throw responseNotFoundError(id)
  return row
}

export async function deleteResponse({ db }: StoreContext, owner: Owner, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom('stored_responses')
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw responseNotFoundError(id)
}

export interface ItemPage {
  items: JsonObject[]
  hasMore: boolean
}

/** A page of a response's input items, each with an id. */
export async function listInputItems(
  store: StoreContext,
  owner: Owner,
  id: string,
  page: { limit: number; order: 'asc' | 'desc'; after?: string | undefined },
): Promise<ItemPage> {
  const { input_count: count } = await requireResponseRow(store, owner, id)
  const after = page.after === undefined ? undefined : await findPosition(store, id, page.after)
  if (page.after !== undefined && (after === undefined || after >= count))
    throw invalidFieldError('after', 'is not an item of this response')
  const isAscending = page.order === 'asc'
  const from = isAscending ? (after ?? -1) + 1 : Math.max(0, (after ?? count) - page.limit)
  const to = isAscending ? Math.min(count, from + page.limit) : (after ?? count)
  const storedItems = await readItems(store, id, from, to)
  const items = storedItems.map((item, index) => ({
    ...item,
    id: isItemId(item.id) ? item.id : formatPositionId(id, from + index),
  }))
  return { items: isAscending ? items : items.reverse(), hasMore: isAscending ? to < count : from > 0 }
}

async function findPosition(
  { db }: StoreContext,
  responseId: string,
  itemId: string,
): Promise<number | undefined> {
  const parsed = parsePositionId(itemId)
  if (parsed?.response_id === responseId) return parsed.position
  if (!isItemId(itemId)) return undefined
  const row = await db
    .selectFrom('stored_item_ids')
    .select('position')
    .where('item_id', '=', itemId)
    .where('response_id', '=', responseId)
    .executeTakeFirst()
  return row?.position
}

/** All items up to and including a response, oldest first; `maxBytes` is the limit of a request. */
export async function loadConversation(
  store: StoreContext,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<{ items: JsonObject[]; bytes: number }> {
  const { turns, bytes } = await measureConversation(store, owner, id)
  if (turns > maxTurns)
    throw invalidFieldError('previous_response_id', `the conversation has more than ${maxTurns} turns`)
  if (bytes > maxBytes)
    throw gatewayError('body_too_large', `The conversation is larger than ${maxBytes} bytes.`)
  const rows = await loadTurns(store, owner, id)
  const oldest = rows[0]
  if (!oldest) throw responseNotFoundError(id)
  if (oldest.previous_response_id !== null) throw responseNotFoundError(oldest.previous_response_id)
  const items: JsonObject[] = []
  for (const [index, row] of rows.entries()) {
    if (index % pagesPerTurn === pagesPerTurn - 1) await yieldToEventLoop()
    if (row.items === null) continue
    for (const item of openPage(store.vault, row.response_id, row.items)) items.push(item)
  }
  return { items, bytes }
}

/** The number of pages opened before yielding to the event loop: about a megabyte. */
const pagesPerTurn = 16

interface Turn {
  response_id: string
  previous_response_id: string | null
  /** Encrypted; null for a response without items. */
  items: string | null
}

/** The responses of a conversation, the newest with age 0. */
function buildTurnsQuery({ clock }: StoreContext, owner: Owner, id: string) {
  const ownerCondition = sql`r.organization_id = ${owner.organizationId} and r.workspace_id = ${owner.workspaceId}
    and r.expires_at > ${isoNow(clock)}`
  return sql`with recursive turns (id, previous_response_id, age) as (
      select r.id, r.previous_response_id, 0 from stored_responses r where r.id = ${id} and ${ownerCondition}
      union all
      select r.id, r.previous_response_id, turns.age + 1
      from stored_responses r join turns on r.id = turns.previous_response_id
      where turns.age <= ${maxTurns} and ${ownerCondition}
    )`
}

async function measureConversation(
  store: StoreContext,
  owner: Owner,
  id: string,
): Promise<{ turns: number; bytes: number }> {
  const { rows } = await sql<{ turns: number; bytes: number }>`${buildTurnsQuery(store, owner, id)}
    select coalesce(max(turns.age), 0) + 1 as turns, coalesce(sum(stored_responses.item_bytes), 0) as bytes
    from turns join stored_responses on stored_responses.id = turns.id`.execute(store.db)
  // PostgreSQL returns sums as text.
  return { turns: Number(rows[0]?.turns ?? 0), bytes: Number(rows[0]?.bytes ?? 0) }
}

async function loadTurns(store: StoreContext, owner: Owner, id: string): Promise<Turn[]> {
  const { rows } = await sql<Turn>`${buildTurnsQuery(store, owner, id)}
    select turns.id as response_id, turns.previous_response_id, stored_pages.items
    from turns left join stored_pages on stored_pages.response_id = turns.id
    order by turns.age desc, stored_pages.first`.execute(store.db)
  return rows
}

/**
 * Yields the stored items that a request refers to by id, one after the other, so that the caller can stop when they
 * exceed its limit. Every page is opened once, and all pages together have at most `maxBytes`.
 */
export async function* findItems(
  store: StoreContext,
  owner: Owner,
  ids: ReadonlySet<string>,
  maxBytes: number,
): AsyncGenerator<{ id: string; item: JsonObject }> {
  if (ids.size === 0) return
  let page: { responseId: string; first: number; items: JsonObject[] } | undefined
  let bytes = 0
  for (const { item_id, response_id, position } of sortByPosition(
    await findItemPositions(store, owner, [...ids]),
  )) {
    if (page?.responseId !== response_id || position >= page.first + page.items.length) {
      await yieldToEventLoop()
      const read = await readPage(store, response_id, position)
      bytes += read?.bytes ?? 0
      if (bytes > maxBytes) throw gatewayError('body_too_large', itemsTooLargeMessage)
      page = read && { responseId: response_id, ...read }
    }
    const item = page?.items[position - page.first]
    if (item) yield { id: item_id, item }
  }
}

const itemsTooLargeMessage = 'The stored items that input refers to are too large to be read for one request.'

/** Makes items of the same page adjacent. */
function sortByPosition(positions: ItemPosition[]): ItemPosition[] {
  return positions.toSorted((a, b) =>
    a.response_id === b.response_id ? a.position - b.position : a.response_id < b.response_id ? -1 : 1,
  )
}

interface ItemPosition {
  item_id: string
  response_id: string
  position: number
}

/** The locations of items in their owner's responses; in the newest one if an id occurs in several. */
async function findItemPositions(store: StoreContext, owner: Owner, ids: string[]): Promise<ItemPosition[]> {
  const ownerCondition = sql`r.organization_id = ${owner.organizationId} and r.workspace_id = ${owner.workspaceId}
    and r.expires_at > ${isoNow(store.clock)}`
  const { rows: named } =
    await sql<ItemPosition>`select i.item_id, i.response_id, i.position from stored_item_ids i
    join (
      select n.item_id, max(n.response_id) as response_id from stored_item_ids n
      join stored_responses r on r.id = n.response_id
      where n.item_id in (${sql.join(ids)}) and ${ownerCondition} group by n.item_id
    ) newest on newest.item_id = i.item_id and newest.response_id = i.response_id`.execute(store.db)
  const positioned = ids.flatMap((id) => {
    const parsed = parsePositionId(id)
    return parsed ? [{ item_id: id, ...parsed }] : []
  })
  if (positioned.length === 0) return named
  const { rows: owned } = await sql<{ id: string }>`select r.id from stored_responses r
    where r.id in (${sql.join(positioned.map((parsed) => parsed.response_id))}) and ${ownerCondition}`.execute(
    store.db,
  )
  const known = new Set(owned.map((row) => row.id))
  return [...named, ...positioned.filter((parsed) => known.has(parsed.response_id))]
}

export async function deleteExpiredResponses({
  db,
  clock,
}: Pick<StoreContext, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('stored_responses').where('expires_at', '<=', isoNow(clock)).execute()
}

function responseNotFoundError(id: string) {
  return gatewayError(
    'not_found',
    `The response "${id.slice(0, 100)}" does not exist or is no longer stored.`,
  )
}
