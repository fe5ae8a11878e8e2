import { sql } from 'kysely'
import type { Statement } from '../db/batch.ts'
import type { Db } from '../db/db.ts'
import { badField, fail } from '../errors.ts'
import { type Clock, isoNow } from '../lib/clock.ts'
import { newId } from '../lib/ids.ts'
import { type JsonObject, objectOf } from '../lib/loose.ts'
import type { Vault } from '../lib/secret.ts'

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

export function newStoredResponse(
  { vault, clock }: Shelf,
  { id, owner, previousId, body, retentionDays }: Omit<NewResponse, 'input' | 'output'>,
) {
  return {
    id,
    organization_id: owner.organizationId,
    workspace_id: owner.workspaceId,
    previous_response_id: previousId,
    body: vault.seal(JSON.stringify(body), id),
    created_at: isoNow(clock),
    expires_at: new Date(clock.now() + retentionDays * dayMs).toISOString(),
  }
}

/** Written in the transaction that charges for the response: whoever has seen its end can go on from it. */
export function keptResponse(shelf: Shelf, response: NewResponse): Statement[] {
  const { db, vault } = shelf
  const { id } = response
  const kept = db.insertInto('stored_responses').values(newStoredResponse(shelf, response)).compile()
  const items = [
    ...response.input.map((item) => ({ item, is_output: 0 as const })),
    ...response.output.map((item) => ({ item, is_output: 1 as const })),
  ]
  const rows = items.map(({ item, is_output }, position) => ({
    response_id: id,
    position,
    // What came without an id can be referred to by ours; the item itself stays as it was.
    item_id: isItemId(item.id) ? item.id : newId('msg'),
    is_output,
    item: vault.seal(JSON.stringify(item), id),
  }))
  const said = rows.map((row) => db.insertInto('stored_items').values(row).compile())
  return [kept, ...said].map(({ sql, parameters }) => ({ sql, values: parameters }))
}

export async function findResponse(shelf: Shelf, owner: Owner, id: string): Promise<JsonObject> {
  const row = await shelf.db
    .selectFrom('stored_responses')
    .select('body')
    .where('id', '=', id)
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(shelf.clock))
    .executeTakeFirst()
  if (!row) throw responseMissing(id)
  return opened(shelf, row.body, id)
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

export async function inputItems(shelf: Shelf, owner: Owner, id: string): Promise<JsonObject[]> {
  await findResponse(shelf, owner, id)
  const rows = await shelf.db
    .selectFrom('stored_items')
    .select(['item', 'item_id'])
    .where('response_id', '=', id)
    .where('is_output', '=', 0)
    .orderBy('position')
    .execute()
  return rows.map(({ item, item_id }) => ({ ...opened(shelf, item, id), id: item_id }))
}

/** Everything said up to and including a response, oldest first; `maxBytes` is what a request may have. */
export async function conversationOf(
  shelf: Shelf,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<JsonObject[]> {
  const { turns, bytes } = await sizeOf(shelf, owner, id)
  if (turns > maxTurns)
    throw badField('previous_response_id', `the conversation has more than ${maxTurns} turns`)
  if (bytes > maxBytes) throw fail('body_too_large', `The conversation is larger than ${maxBytes} bytes.`)
  const rows = await turnsUpTo(shelf, owner, id)
  const oldest = rows[0]
  if (!oldest) throw responseMissing(id)
  if (oldest.previous_response_id !== null) throw responseMissing(oldest.previous_response_id)
  return rows.flatMap(({ response_id, item }) => (item === null ? [] : [opened(shelf, item, response_id)]))
}

interface Turn {
  response_id: string
  previous_response_id: string | null
  /** Null for a response without any items. */
  item: string | null
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
    select coalesce(max(turns.age), 0) + 1 as turns, coalesce(sum(length(stored_items.item)), 0) as bytes
    from turns left join stored_items on stored_items.response_id = turns.id`.execute(shelf.db)
  // Sums come as text from one of the databases.
  return { turns: Number(rows[0]?.turns ?? 0), bytes: Number(rows[0]?.bytes ?? 0) }
}

async function turnsUpTo(shelf: Shelf, owner: Owner, id: string): Promise<Turn[]> {
  const { rows } = await sql<Turn>`${turnsOf(shelf, owner, id)}
    select turns.id as response_id, turns.previous_response_id, stored_items.item
    from turns left join stored_items on stored_items.response_id = turns.id
    order by turns.age desc, stored_items.position`.execute(shelf.db)
  return rows
}

/** Items that a request refers to by id, as they were stored. */
export async function findItems(shelf: Shelf, owner: Owner, ids: string[]): Promise<Map<string, JsonObject>> {
  if (ids.length === 0) return new Map()
  const rows = await shelf.db
    .selectFrom('stored_items')
    .innerJoin('stored_responses', 'stored_responses.id', 'stored_items.response_id')
    .select(['item_id', 'item', 'response_id'])
    .where('organization_id', '=', owner.organizationId)
    .where('workspace_id', '=', owner.workspaceId)
    .where('expires_at', '>', isoNow(shelf.clock))
    .where('item_id', 'in', ids)
    .execute()
  return new Map(
    rows.map(({ item_id, item, response_id }) => [item_id ?? '', opened(shelf, item, response_id)]),
  )
}

export async function dropExpiredResponses({ db, clock }: Pick<Shelf, 'db' | 'clock'>): Promise<void> {
  await db.deleteFrom('stored_responses').where('expires_at', '<=', isoNow(clock)).execute()
}

function opened({ vault }: Shelf, sealed: string, id: string): JsonObject {
  return objectOf(JSON.parse(vault.open(sealed, id))) ?? {}
}

function responseMissing(id: string) {
  return fail('not_found', `The response "${id.slice(0, 100)}" does not exist or is no longer stored.`)
}
