import { appendStatements, conversationItems, maxItems } from '../account/conversations.ts'
import {
  conversationOf,
  findItems,
  findStatus,
  isItemId,
  keptResponse,
  type Owner,
} from '../account/stored-responses.ts'
import type { Statement } from '../db/batch.ts'
import { badField, fail } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { newId } from '../lib/ids.ts'
import { jsonLength } from '../lib/long-json.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../lib/loose.ts'
import { openSummaries } from './compaction.ts'
import { refuseExcess } from './excess.ts'

/** A request with everything it refers to in place. */
export interface Opened {
  body: JsonObject
  /** Its own input, without what was said before. */
  input: JsonObject[]
  /** How its answer is kept; absent when the client wants nothing stored. */
  keep?: (reply: JsonObject) => Promise<Statement[]>
}

/** Puts what was said before in front of the input, and stored items in the place of references to them. */
export async function openConversation(gateway: Gateway, owner: Owner, body: JsonObject): Promise<Opened> {
  const previousId = textOf(body.previous_response_id) ?? null
  const conversationId = conversationIdOf(body.conversation)
  if (previousId !== null && conversationId !== null)
    throw badField('conversation', 'cannot be combined with previous_response_id')
  const earlier = await earlierItems(gateway, owner, previousId, conversationId)
  const input = await resolved(gateway, owner, itemsOf(body.input), earlier)
  if (conversationId !== null && earlier.items.length + input.length > maxItems)
    throw badField('input', `a conversation has at most ${maxItems} items, and has ${earlier.items.length}`)
  const { responses } = gateway.settings
  const store = typeof body.store === 'boolean' ? body.store : responses.store
  const isAlone = earlier.items.length === 0 && typeof body.input === 'string'
  const opened = isAlone ? body.input : openSummaries(gateway, owner, [...earlier.items, ...input])
  const conversation = conversationId === null ? {} : { conversation: { id: conversationId } }
  const asked = { ...body, ...conversation, store, input: opened }
  if (!store && conversationId === null) return { body: asked, input }
  const mayBeLong = body.background === true
  return {
    body: asked,
    input,
    keep: async (reply) => {
      const output = objectsOf(reply.output)
      const added =
        conversationId === null ? [] : await appendStatements(gateway, conversationId, [...input, ...output])
      if (!store || (!mayBeLong && jsonLength(reply) > mostStored)) return added
      const { statements, bytes } = await keptResponse(gateway, {
        id: textOf(reply.id) ?? newId('resp'),
        owner,
        previousId,
        body: reply,
        input,
        output,
        retentionDays: responses.retention_days,
      })
      gateway.responseQuota.note(owner.workspaceId, bytes, responses)
      return [...statements, ...added]
    },
  }
}

/** A longer response is not kept, unless it is made in the background: nobody has read that one yet. */
const mostStored = 8 * 1024 * 1024

function conversationIdOf(conversation: unknown): string | null {
  if (!conversation) return null
  const id = textOf(conversation) ?? textOf(objectOf(conversation)?.id)
  if (id === undefined) throw badField('conversation', 'must be the id of a conversation')
  return checkedId('conversation', id)
}

interface Earlier {
  items: JsonObject[]
  bytes: number
  /** What they may be referred to by. */
  ids: ReadonlySet<string>
}

async function earlierItems(
  gateway: Gateway,
  owner: Owner,
  previousId: string | null,
  conversationId: string | null,
): Promise<Earlier> {
  const maxBytes = gateway.settings.limits.body_bytes
  if (conversationId !== null) {
    const retentionDays = gateway.settings.responses.retention_days
    const limits = { maxBytes, retentionDays }
    const { found, bytes } = await conversationItems(gateway, owner, conversationId, limits)
    return { items: found.map(({ item }) => item), bytes, ids: new Set(found.map(({ id }) => id)) }
  }
  if (previousId === null) return { items: [], bytes: 0, ids: new Set() }
  const { items, bytes } = await turnsBefore(gateway, owner, checkedId('response', previousId), maxBytes)
  return { items, bytes, ids: new Set(items.flatMap(({ id }) => textOf(id) ?? [])) }
}

/** A response that failed or was cancelled has nothing to go on from. */
const unanswered = new Set<unknown>(['failed', 'cancelled'])

async function turnsBefore(
  gateway: Gateway,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<Pick<Earlier, 'items' | 'bytes'>> {
  const status = await findStatus(gateway, owner, id)
  if (unanswered.has(status))
    throw badField(
      'previous_response_id',
      `is a response that ${status === 'failed' ? 'failed' : 'was cancelled'}`,
    )
  return conversationOf(gateway, owner, id, maxBytes)
}

/** Nothing stored has another kind of id, and a database may refuse to look for one. */
function checkedId(kind: string, id: string): string {
  if (isItemId(id)) return id
  throw fail('not_found', `The ${kind} does not exist or is no longer stored.`)
}

function itemsOf(input: unknown): JsonObject[] {
  if (typeof input !== 'string') return objectsOf(input)
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** The items with what they refer to in place, which together with what is in front is no more than a body may be. */
async function resolved(
  gateway: Gateway,
  owner: Owner,
  items: JsonObject[],
  earlier: Earlier,
): Promise<JsonObject[]> {
  const references = items.flatMap((item) => (item.type === 'item_reference' ? (textOf(item.id) ?? []) : []))
  if (references.length === 0) return items
  if (references.length > mostReferences)
    throw badField('input', `refers to more than ${mostReferences} items`)
  const wanted = references.filter((id) => !earlier.ids.has(id) && isItemId(id))
  const stored = await referredTo(gateway, owner, wanted, earlier.bytes)
  const input = items.flatMap((item, place) => {
    if (item.type !== 'item_reference') return [item]
    const id = textOf(item.id) ?? ''
    // Already in front, as part of the conversation.
    if (earlier.ids.has(id)) return []
    const found = stored.get(id)
    if (!found) throw badField(`input.${place}.id`, `no stored item has the id "${id.slice(0, 100)}"`)
    return [found]
  })
  refuseExcess({ input }, Number.POSITIVE_INFINITY, gateway.settings.limits)
  return input
}

/** In one request. */
const mostReferences = 1000
/** Items share pages with others, which are read along with them. */
const pageAllowance = 4

/** The stored items by id. One that is referred to twice counts twice: it is sent twice. */
async function referredTo(
  gateway: Gateway,
  owner: Owner,
  ids: string[],
  earlierBytes: number,
): Promise<Map<string, JsonObject>> {
  const { body_bytes: maxBytes } = gateway.settings.limits
  const times = new Map<string, number>()
  for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1)
  const stored = new Map<string, JsonObject>()
  let bytes = earlierBytes
  const found = findItems(gateway, owner, new Set(ids), pageAllowance * maxBytes)
  for await (const { id, item } of found) {
    bytes += (times.get(id) ?? 1) * Buffer.byteLength(JSON.stringify(item))
    if (bytes > maxBytes)
      throw fail('body_too_large', `input with the items it refers to is larger than ${maxBytes} bytes.`)
    stored.set(id, item)
  }
  return stored
}
