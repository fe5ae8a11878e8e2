import { sql } from 'kysely'
import type { Statement } from '../db/batch.ts'
import { badField, fail } from '../errors.ts'
import { isoNow } from '../lib/clock.ts'
import { growingHex, newId } from '../lib/ids.ts'
import { jsonLength, jsonPieces } from '../lib/long-json.ts'
import { type JsonObject, objectOf } from '../lib/loose.ts'
import { Turns } from '../lib/turns.ts'
import { type Ceilings, refuseBeyond } from './ceilings.ts'
import { chunksOf } from './scim-grants.ts'
import { dayMs, isItemId, type Owner, type Shelf } from './stored-responses.ts'

export interface Conversation {
  id: string
  createdAt: string
  metadata: JsonObject
}

/** An item as it was given, and the id it is found by: vendors refuse ids they did not make. */
export interface ConversationItem {
  id: string
  item: JsonObject
}

/** A conversation longer than this cannot be answered by any model. */
export const maxItems = 10_000

export async function createConversation(
  shelf: Shelf & { settings: { ceilings: Ceilings } },
  owner: Owner,
  { metadata, items, retentionDays }: { metadata: JsonObject; items: JsonObject[]; retentionDays: number },
): Promise<Conversation> {
  const id = newId('conv')
  const createdAt = isoNow(shelf.clock)
  const rows = await rowsOf(shelf, id, items)
  await shelf.db.transaction().execute(async (db) => {
    await db
      .insertInto('conversations')
      .values({
        id,
        organization_id: owner.organizationId,
        workspace_id: owner.workspaceId,
        metadata: shelf.vault.seal(JSON.stringify(metadata), id),
        created_at: createdAt,
        expires_at: expiry(shelf, retentionDays),
      })
      .execute()
    await refuseBeyond(db, shelf.settings.ceilings, 'conversations', owner.workspaceId)
    if (rows.length > 0) await db.insertInto('conversation_items').values(rows).execute()
  })
  return { id, createdAt, metadata }
}

export async function findConversation(shelf: Shelf, owner: Owner, id: string): Promise<Conversation> {
  const row = await shelf.db
    .selectFrom('conversations')
    .select(['metadata', 'created_at'])
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(shelf.clock))
    .executeTakeFirst()
  if (!row) throw conversationMissing(id)
  return { id, createdAt: row.created_at, metadata: unsealed(shelf, row.metadata, id) }
}

export async function updateConversation(
  shelf: Shelf,
  owner: Owner,
  id: string,
  metadata: JsonObject,
): Promise<Conversation> {
  const found = await findConversation(shelf, owner, id)
  await shelf.db
    .updateTable('conversations')
    .set({ metadata: shelf.vault.seal(JSON.stringify(metadata), id) })
    .where('id', '=', id)
    .execute()
  return { ...found, metadata }
}

export async function deleteConversation(shelf: Shelf, owner: Owner, id: string): Promise<void> {
  await findConversation(shelf, owner, id)
  await shelf.db.deleteFrom('conversations').where('id', '=', id).execute()
}

export async function addItems(
  shelf: Shelf,
  owner: Owner,
  id: string,
  items: JsonObject[],
  retentionDays: number,
): Promise<ConversationItem[]> {
  await findConversation(shelf, owner, id)
  const { count } = await sizeOf(shelf, id)
  if (count + items.length > maxItems) throw badField('items', `a conversation has at most ${maxItems} items`)
  const rows = await rowsOf(shelf, id, items)
  await shelf.db.transaction().execute(async (db) => {
    await db
      .updateTable('conversations')
      .set({ expires_at: expiry(shelf, retentionDays) })
      .where('id', '=', id)
      .execute()
    await db.insertInto('conversation_items').values(rows).execute()
  })
  return rows.map(({ item_id }, at) => ({ id: item_id, item: items[at] ?? {} }))
}

/** Written in the transaction that charges for the response; a conversation deleted meanwhile stays deleted. */
export async function appendStatements(shelf: Shelf, id: string, items: JsonObject[]): Promise<Statement[]> {
  const rows = await rowsOf(shelf, id, items)
  return [...chunksOf(rows, rowsAtOnce)].map((chunk) => {
    const selects = chunk.map(
      ({ place, item_id, item }) =>
        sql`select id, ${place}, ${item_id}, ${item} from conversations where id = ${id}`,
    )
    const { sql: text, parameters } =
      sql`insert into conversation_items (conversation_id, place, item_id, item)
      ${sql.join(selects, sql` union all `)}`.compile(shelf.db)
    return { sql: text, values: parameters }
  })
}

/** In one statement. */
const rowsAtOnce = 100

export interface ItemPage {
  limit: number
  order: 'asc' | 'desc'
  after?: string | undefined
}

/** One more than the page has shows that there are others. */
export async function listItems(
  shelf: Shelf,
  owner: Owner,
  id: string,
  { limit, order, after }: ItemPage,
): Promise<ConversationItem[]> {
  await findConversation(shelf, owner, id)
  let query = shelf.db
    .selectFrom('conversation_items')
    .select(['item_id', 'item'])
    .where('conversation_id', '=', id)
    .orderBy('place', order)
    .limit(limit + 1)
  if (after !== undefined) {
    const place = await placeOf(shelf, id, after)
    if (place === undefined) throw badField('after', 'is no item of this conversation')
    query = query.where('place', order === 'asc' ? '>' : '<', place)
  }
  const rows = await query.execute()
  return inTurns(rows, ({ item_id, item }) => ({ id: item_id, item: unsealed(shelf, item, id) }))
}

export async function findItem(
  shelf: Shelf,
  owner: Owner,
  id: string,
  itemId: string,
): Promise<ConversationItem> {
  await findConversation(shelf, owner, id)
  const row = await shelf.db
    .selectFrom('conversation_items')
    .select('item')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  if (!row) throw itemMissing(itemId)
  return { id: itemId, item: unsealed(shelf, row.item, id) }
}

export async function deleteItem(
  shelf: Shelf,
  owner: Owner,
  id: string,
  itemId: string,
): Promise<Conversation> {
  const conversation = await findConversation(shelf, owner, id)
  const { numDeletedRows } = await shelf.db
    .deleteFrom('conversation_items')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  if (numDeletedRows === 0n) throw itemMissing(itemId)
  return conversation
}

/** Everything said so far, oldest first; `maxBytes` is what a request may have. */
export async function conversationItems(
  shelf: Shelf,
  owner: Owner,
  id: string,
  { maxBytes, retentionDays }: { maxBytes: number; retentionDays: number },
): Promise<{ found: ConversationItem[]; bytes: number }> {
  await findConversation(shelf, owner, id)
  await extend(shelf, id, retentionDays)
  const { count, bytes } = await sizeOf(shelf, id)
  if (count > maxItems) throw badField('conversation', `has more than ${maxItems} items`)
  if (bytes > maxBytes) throw fail('body_too_large', `The conversation is larger than ${maxBytes} bytes.`)
  return { found: await listItems(shelf, owner, id, { limit: maxItems, order: 'asc' }), bytes }
}

export async function dropExpiredConversations({ db, clock }: Pick<Shelf, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('conversations').where('expires_at', '<=', isoNow(clock)).execute()
}

/** Not with every use, nor with the charge: requests that share a conversation need not wait for each other. */
async function extend({ db, clock }: Shelf, id: string, retentionDays: number): Promise<void> {
  const until = clock.now() + retentionDays * dayMs
  await db
    .updateTable('conversations')
    .set({ expires_at: new Date(until).toISOString() })
    .where('id', '=', id)
    .where('expires_at', '<', new Date(until - dayMs / 24).toISOString())
    .execute()
}

async function sizeOf({ db }: Shelf, id: string): Promise<{ count: number; bytes: number }> {
  const row = await db
    .selectFrom('conversation_items')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      sql<number>`coalesce(sum(length(item)), 0)`.as('bytes'),
    ])
    .where('conversation_id', '=', id)
    .executeTakeFirst()
  // Sums come as text from one of the databases.
  return { count: Number(row?.count ?? 0), bytes: Number(row?.bytes ?? 0) }
}

async function placeOf({ db }: Shelf, id: string, itemId: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('conversation_items')
    .select('place')
    .where('conversation_id', '=', id)
    .where('item_id', '=', itemId)
    .executeTakeFirst()
  return row?.place
}

async function rowsOf({ vault }: Shelf, id: string, items: JsonObject[]) {
  const start = growingHex()
  const turns = new Turns()
  const rows: { conversation_id: string; place: string; item_id: string; item: string }[] = []
  for (const [at, item] of items.entries()) {
    for (let turn = turns.next; turn; turn = turns.next) await turn
    const isLong = jsonLength(item) > longItem
    rows.push({
      conversation_id: id,
      place: `${start}-${String(at).padStart(6, '0')}`,
      item_id: isItemId(item.id) ? item.id : newId('msg'),
      item: isLong
        ? await vault.sealPieces(jsonPieces(item), id)
        : turns.run(() => vault.seal(JSON.stringify(item), id)),
    })
  }
  return rows
}

/** From this length on an item is sealed in several turns. */
const longItem = 256 * 1024

/** As `map`, with turns of the event loop for others. */
async function inTurns<T, U>(values: T[], change: (value: T) => U): Promise<U[]> {
  const changed: U[] = []
  const changes = values.values().map(change)
  for await (const value of new Turns().each(changes)) changed.push(value)
  return changed
}

function expiry({ clock }: Shelf, retentionDays: number): string {
  return new Date(clock.now() + retentionDays * dayMs).toISOString()
}

function unsealed({ vault }: Shelf, sealed: string, id: string): JsonObject {
  return objectOf(JSON.parse(vault.open(sealed, id))) ?? {}
}

function conversationMissing(id: string) {
  return fail('not_found', `The conversation "${id.slice(0, 100)}" does not exist or is no longer stored.`)
}

function itemMissing(id: string) {
  return fail('not_found', `The conversation has no item "${id.slice(0, 100)}".`)
}
