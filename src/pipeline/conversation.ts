import { conversationOf, findItems, isItemId, keptResponse, type Owner } from '../account/stored-responses.ts'
import type { Statement } from '../db/batch.ts'
import { badField, fail } from '../errors.ts'
import type { Gateway } from '../gateway.ts'
import { newId } from '../lib/ids.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '../lib/loose.ts'

/** A request with everything it refers to in place. */
export interface Opened {
  body: JsonObject
  /** How its answer is kept; absent when the client wants nothing stored. */
  keep?: (reply: JsonObject) => Statement[]
}

/** Puts what was said before in front of the input, and stored items in the place of references to them. */
export async function openConversation(gateway: Gateway, owner: Owner, body: JsonObject): Promise<Opened> {
  const previousId = textOf(body.previous_response_id) ?? null
  refuseConversation(body)
  const maxBytes = gateway.settings.limits.body_bytes
  const before =
    previousId === null ? [] : await conversationOf(gateway, owner, checkedId(previousId), maxBytes)
  const input = await resolved(gateway, owner, itemsOf(body.input), before)
  const { responses } = gateway.settings
  const store = typeof body.store === 'boolean' ? body.store : responses.store
  const opened = before.length === 0 && typeof body.input === 'string' ? body.input : [...before, ...input]
  const asked = { ...body, store, input: opened }
  if (!store) return { body: asked }
  return {
    body: asked,
    keep: (reply) =>
      keptResponse(gateway, {
        id: textOf(reply.id) ?? newId('resp'),
        owner,
        previousId,
        body: reply,
        input,
        output: objectsOf(reply.output),
        retentionDays: responses.retention_days,
      }),
  }
}

/** A field of the same API that names something this gateway does not keep. */
function refuseConversation({ conversation }: JsonObject): void {
  if (conversation) throw badField('conversation', 'is not supported; use previous_response_id')
}

/** No response has another kind of id, and a database may refuse to look for one. */
function checkedId(id: string): string {
  if (isItemId(id)) return id
  throw fail('not_found', 'The response does not exist or is no longer stored.')
}

function itemsOf(input: unknown): JsonObject[] {
  if (typeof input !== 'string') return objectsOf(input)
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

async function resolved(
  gateway: Gateway,
  owner: Owner,
  items: JsonObject[],
  before: JsonObject[],
): Promise<JsonObject[]> {
  const references = items.flatMap((item) => (item.type === 'item_reference' ? (textOf(item.id) ?? []) : []))
  if (references.length === 0) return items
  if (references.length > mostReferences)
    throw badField('input', `refers to more than ${mostReferences} items`)
  const known = new Map(before.map((item) => [textOf(item.id) ?? '', item]))
  const stored = await findItems(
    gateway,
    owner,
    references.filter((id) => !known.has(id) && isItemId(id)),
  )
  return items.flatMap((item, place) => {
    if (item.type !== 'item_reference') return [item]
    const id = textOf(item.id) ?? ''
    // Already in front, as part of the conversation.
    if (known.has(id)) return []
    const found = objectOf(stored.get(id))
    if (!found) throw badField(`input.${place}.id`, `no stored item has the id "${id.slice(0, 100)}"`)
    return [found]
  })
}

/** In one request. */
const mostReferences = 1000
