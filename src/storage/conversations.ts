import { sql } from 'kysely'
import { assertWithinCeiling, type Ceilings } from '../identity/ceilings.ts'
import { splitIntoChunks } from '../identity/scim-grants.ts'
import { newId, newTimeOrderedHex } from '../platform/crypto/ids.ts'
import type { Statement } from '../platform/db/batch.ts'
import { gatewayError, invalidFieldError } from '../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../platform/json/json-values.ts'
import { encodeJsonChunks, estimateJsonLength } from '../platform/json/long-json.ts'
import { isoNow } from '../platform/time/clock.ts'
import { TimeSlicer } from '../platform/time/time-slicer.ts'
import { dayMs, isItemId, type Owner, type StoreContext } from './stored-responses.ts'

export interface Conversation {
  id: string
  createdAt: string
  metadata: JsonObject
}

/** An item as it was sent, and the id it is stored under: vendors reject ids they did not create. */
export interface ConversationItem {
  id: string
  item: JsonObject
}

/** The maximum number of items: no model accepts a longer conversation. */
export const maxItems = 10_000

export async function createConversation(
  store: StoreContext & { settings: { ceilings: Ceilings } },
  owner: Owner,
  { metadata, items, retentionDays }: { metadata: JsonObject; items: JsonObject[]; retentionDays: number },
): Promise<Conversation> {
  const id = newId('conv')
  const createdAt = isoNow(store.clock)
  const rows = await buildItemRows(store, id, items)
  await store.db.transaction().execute(async (db) => {
    await db
      .insertInto('conversations')
      .values({
        id,
        organization_id: owner.organizationId,
        workspace_id: owner.workspaceId,
        metadata: store.vault.encrypt(JSON.stringify(metadata), id),
        created_at: createdAt,
        expires_at: computeExpiry(store, retentionDays),
      })
      .execute()
    await assertWithinCeiling(db, store.settings.ceilings, 'conversations', owner.workspaceId)
    if (rows.length > 0) await db.insertInto('conversation_items').values(rows).execute()
  })
  return { id, createdAt, metadata }
}

export async function findConversation(store: StoreContext, owner: Owner, id: string): Promise<Conversation> {
  const row = await store.db
    .selectFrom('conversations')
    .select(['metadata', 'created_at'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(store.clock))
    .executeTakeFirst()
  if (!row) throw conversationNotFoundError(id)
  return { id, createdAt: row.created_at, metadata: decryptObject(store, row.metadata, id) }
}

export async function updateConversation(
  store: StoreContext,
  owner: Owner,
  id: string,
  metadata: JsonObject,
): Promise<Conversation> {
  const conversation = await findConversation(store, owner, id)
  await store.db
    .updateTable('conversations')
    .set({ metadata: store.vault.encrypt(JSON.stringify(metadata), id) })
    .where('id', '=', id)
    .execute()
  return { ...conversation, metadata }
}

export async function deleteConversation(store: StoreContext, owner: Owner, id: string): Promise<void> {
  await findConversation(store, owner, id)
  await store.db.deleteFrom('conversations').where('id', '=', id).execute()
}

export async function addItems(
  store: StoreContext,
  owner: Owner,
  id: string,
  items: JsonObject[],
  retentionDays: number,
): Promise<ConversationItem[]> {
  await findConversation(store, owner, id)
  const { count } = await measureConversation(store, id)
  if (count + items.length > maxItems)
    throw invalidFieldError('items', `a conversation has at most ${maxItems} items`)
  const rows = await buildItemRows(store, id, items)
  await store.db.transaction().execute(async (db) => {
    await db
      .updateTable('conversations')
      .set({ expires_at: computeExpiry(store, retentionDays) })
      .where('id', '=', id)
      .execute()
    await db.insertInto('conversation_items').values(rows).execute()
  })
  return rows.map(({ item_id }, at) => ({ id: item_id, item: items[at] ?? {} }))
}

/** Written in the settlement's transaction; a conversation deleted in between stays deleted. */
export async function buildAppendStatements(
  store: StoreContext,
  id: string,
  items: JsonObject[],
): Promise<Statement[]> {
  const rows = await buildItemRows(store, id, items)
  return [...splitIntoChunks(rows, rowsPerStatement)].map((chunk) => {
    const selects = chunk.map(
      ({ place, item_id, item }) =>
        sql`select id, ${place}, ${item_id}, ${item} from conversations where id = ${id}`,
    )
    const { sql: text, parameters } =
      sql`insert into conversation_items (conversation_id, place, item_id, item)
      ${sql.join(selects, sql` union all `)}`.compile(store.db)
    return { sql: text, values: parameters }
  })
}

/** Rows per statement. */
const rowsPerStatement = 100

export interface ItemPageQuery {
  limit: number
  order: 'asc' | 'desc'
  after?: string | undefined
}

/** Reads one row more than the page, to know whether there are others. */
export async function listItems(
  store: StoreContext,
  owner: Owner,
  id: string,
  { limit, order, after }: ItemPageQuery,
): Promise<ConversationItem[]> {
  await findConversation(store, owner, id)
  let query = store.db
    .selectFrom('conversation_items')
    .select(['item_id', 'item'])
    .where('conversation_id', '=', id)
    .orderBy('place', order)
    .limit(limit + 1)
  if (after !== undefined) {
    const position = await findPosition(store, id, after)
    if (position === undefined) throw invalidFieldError('after', 'is not an item of this conversation')
    query = query.where('place', order === 'asc' ? '>' : '<', position)
  }
  const rows = await query.execute()
  return mapInTurns(rows, ({ item_id, item }) => ({ id: item_id, item: decryptObject(store, item, id) }))
}

export async function findItem(
  store: StoreContext,
  owner: Owner,
  id: string,
  itemId: string,
): Promise<ConversationItem> {
  await findConversation(store, owner, id)
  const row = await store.db
    .selectFrom('conversation_items')
    .select('item')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  if (!row) throw itemNotFoundError(itemId)
  return { id: itemId, item: decryptObject(store, row.item, id) }
}

export async function deleteItem(
  store: StoreContext,
  owner: Owner,
  id: string,
  itemId: string,
): Promise<Conversation> {
  const conversation = await findConversation(store, owner, id)
  const { numDeletedRows } = await store.db
    .deleteFrom('conversation_items')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw itemNotFoundError(itemId)
  return conversation
}

/** All items so far, oldest first; `maxBytes` is the limit of a request. */
export async function readConversationItems(
  store: StoreContext,
  owner: Owner,
  id: string,
  { maxBytes, retentionDays }: { maxBytes: number; retentionDays: number },
): Promise<{ items: ConversationItem[]; bytes: number }> {
  await findConversation(store, owner, id)
  await extendRetention(store, id, retentionDays)
  const { count, bytes } = await measureConversation(store, id)
  if (count > maxItems) throw invalidFieldError('conversation', `has more than ${maxItems} items`)
  if (bytes > maxBytes)
    throw gatewayError('body_too_large', `The conversation is larger than ${maxBytes} bytes.`)
  return { items: await listItems(store, owner, id, { limit: maxItems, order: 'asc' }), bytes }
}

export async function deleteExpiredConversations({
  db,
  clock,
}: Pick<StoreContext, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('conversations').where('expires_at', '<=', isoNow(clock)).execute()
}

/**
 * Extends the retention at most once an hour, outside the settlement: requests that share a conversation must not wait
 * for each other.
 */
async function extendRetention(
  { db, clock }: StoreContext,
  id: string,
  retentionDays: number,
): Promise<void> {
  const until = clock.now() + retentionDays * dayMs
  await db
    .updateTable('conversations')
    .set({ expires_at: new Date(until).toISOString() })
    .where('id', '=', id)
    .where('expires_at', '<', new Date(until - dayMs / 24).toISOString())
    .execute()
}

async function measureConversation(
  { db }: StoreContext,
  id: string,
): Promise<{ count: number; bytes: number }> {
  const row = await db
    .selectFrom('conversation_items')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(length(item)), 0)`.as('bytes'),
    ])
    .where('conversation_id', '=', id)
    .executeTakeFirst()
  // PostgreSQL returns sums as text.
  return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) }
}

async function findPosition({ db }: StoreContext, id: string, itemId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('conversation_items')
    .select('place')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  return row?.place
}

async function buildItemRows({ vault }: StoreContext, id: string, items: JsonObject[]) {
  const start = newTimeOrderedHex()
  const turns = new TimeSlicer()
  const rows: { conversation_id: string; place: string; item_id: string; item: string }[] = []
  for (const [at, item] of items.entries()) {
    for (let turn = turns.pendingYield; turn; turn = turns.pendingYield) await turn
    const isLong = estimateJsonLength(item, minChunkedLength) > minChunkedLength
    rows.push({
      conversation_id: id,
      place: `${start}-${String(at).padStart(6, '0')}`,
      item_id: isItemId(item.id) ? item.id : newId('msg'),
      item: isLong
        ? await vault.encryptChunks(encodeJsonChunks(item), id)
        : turns.runCounted(() => vault.encrypt(JSON.stringify(item), id)),
    })
  }
  return rows
}

/** Length above which items are encrypted in several turns of the event loop. */
const minChunkedLength = 256 * 1024

/** Maps values, like `map`, but yields to the event loop in between. */
async function mapInTurns<T, U>(values: T[], change: (value: T) => U): Promise<U[]> {
  const changed: U[] = []
  const changes = values.values().map(change)
  for await (const value of new TimeSlicer().iterate(changes)) changed.push(value)
  return changed
}

function computeExpiry({ clock }: StoreContext, retentionDays: number): string {
  return new Date(clock.now() + retentionDays * dayMs).toISOString()
}

function decryptObject({ vault }: StoreContext, encrypted: string, id: string): JsonObject {
  return asObject(JSON.parse(vault.decrypt(encrypted, id))) ?? {}
}

function conversationNotFoundError(id: string) {
  return gatewayError(
    'not_found',
    `The conversation "${id.slice(0, 100)}" does not exist or is no longer stored.`,
  )
}

function itemNotFoundError(id: string) {
  return gatewayError('not_found', `The conversation has no item "${id.slice(0, 100)}".`)
}
