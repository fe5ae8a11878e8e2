import { buildAppendStatements, maxItems, readConversationItems } from '../../account/conversations.ts'
import {
  buildResponseStatements,
  findItems,
  findResponseStatus,
  isItemId,
  loadConversation,
  type Owner,
} from '../../account/stored-responses.ts'
import type { Gateway } from '../../app/gateway.ts'
import type { Statement } from '../../db/batch.ts'
import { gatewayError, invalidFieldError } from '../../errors/gateway-error.ts'
import { newId } from '../../lib/ids.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../lib/json-values.ts'
import { estimateJsonLength } from '../../lib/long-json.ts'
import { openSummaries } from './compaction.ts'
import { enforceSizeLimits } from './size-limits.ts'

/** A request with everything it refers to in place. */
export interface ResolvedConversation {
  body: JsonObject
  /** Its own input, without what was said before. */
  input: JsonObject[]
  /** How its answer is kept; absent when the client wants nothing stored. */
  store?: (reply: JsonObject) => Promise<Statement[]>
}

/** Puts what was said before in front of the input, and stored items in the place of references to them. */
export async function resolveConversation(
  gateway: Gateway,
  owner: Owner,
  body: JsonObject,
): Promise<ResolvedConversation> {
  const previousId = asString(body.previous_response_id) ?? null
  const conversationId = parseConversationId(body.conversation)
  if (previousId !== null && conversationId !== null)
    throw invalidFieldError('conversation', 'cannot be combined with previous_response_id')
  const earlier = await loadHistory(gateway, owner, previousId, conversationId)
  const input = await resolveReferences(gateway, owner, parseItems(body.input), earlier)
  if (conversationId !== null && earlier.items.length + input.length > maxItems)
    throw invalidFieldError(
      'input',
      `a conversation has at most ${maxItems} items, and has ${earlier.items.length}`,
    )
  const { responses } = gateway.settings
  const store = typeof body.store === 'boolean' ? body.store : responses.store
  const isAlone = earlier.items.length === 0 && typeof body.input === 'string'
  const opened = isAlone ? body.input : openSummaries(gateway, owner, [...earlier.items, ...input])
  const conversation = conversationId === null ? {} : { conversation: { id: conversationId } }
  const request = { ...body, ...conversation, store, input: opened }
  if (!store && conversationId === null) return { body: request, input }
  const mayBeLong = body.background === true
  return {
    body: request,
    input,
    store: async (reply) => {
      const output = asObjects(reply.output)
      const added =
        conversationId === null
          ? []
          : await buildAppendStatements(gateway, conversationId, [...input, ...output])
      if (!store || (!mayBeLong && estimateJsonLength(reply) > maxStoredLength)) return added
      const { statements, bytes } = await buildResponseStatements(gateway, {
        id: asString(reply.id) ?? newId('resp'),
        owner,
        previousId,
        body: reply,
        input,
        output,
        retentionDays: responses.retention_days,
      })
      gateway.responseQuota.recordResponse(owner.workspaceId, bytes, responses)
      return [...statements, ...added]
    },
  }
}

/** A longer response is not kept, unless it is made in the background: nobody has read that one yet. */
const maxStoredLength = 8 * 1024 * 1024

function parseConversationId(conversation: unknown): string | null {
  if (!conversation) return null
  const id = asString(conversation) ?? asString(asObject(conversation)?.id)
  if (id === undefined) throw invalidFieldError('conversation', 'must be the id of a conversation')
  return validateId('conversation', id)
}

interface ConversationHistory {
  items: JsonObject[]
  bytes: number
  /** What they may be referred to by. */
  ids: ReadonlySet<string>
}

async function loadHistory(
  gateway: Gateway,
  owner: Owner,
  previousId: string | null,
  conversationId: string | null,
): Promise<ConversationHistory> {
  const maxBytes = gateway.settings.limits.body_bytes
  if (conversationId !== null) {
    const retentionDays = gateway.settings.responses.retention_days
    const limits = { maxBytes, retentionDays }
    const { items: found, bytes } = await readConversationItems(gateway, owner, conversationId, limits)
    return { items: found.map(({ item }) => item), bytes, ids: new Set(found.map(({ id }) => id)) }
  }
  if (previousId === null) return { items: [], bytes: 0, ids: new Set() }
  const { items, bytes } = await loadPreviousTurns(
    gateway,
    owner,
    validateId('response', previousId),
    maxBytes,
  )
  return { items, bytes, ids: new Set(items.flatMap(({ id }) => asString(id) ?? [])) }
}

/** A response that failed or was cancelled has nothing to go on from. */
const dropUnansweredCalls = new Set<unknown>(['failed', 'cancelled'])

async function loadPreviousTurns(
  gateway: Gateway,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<Pick<ConversationHistory, 'items' | 'bytes'>> {
  const status = await findResponseStatus(gateway, owner, id)
  if (dropUnansweredCalls.has(status))
    throw invalidFieldError(
      'previous_response_id',
      `is a response that ${status === 'failed' ? 'failed' : 'was cancelled'}`,
    )
  return loadConversation(gateway, owner, id, maxBytes)
}

/** Nothing stored has another kind of id, and a database may refuse to look for one. */
function validateId(kind: string, id: string): string {
  if (isItemId(id)) return id
  throw gatewayError('not_found', `The ${kind} does not exist or is no longer stored.`)
}

function parseItems(input: unknown): JsonObject[] {
  if (typeof input !== 'string') return asObjects(input)
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** The items with what they refer to in place, which together with what is in front is no more than a body may be. */
async function resolveReferences(
  gateway: Gateway,
  owner: Owner,
  items: JsonObject[],
  earlier: ConversationHistory,
): Promise<JsonObject[]> {
  const references = items.flatMap((item) =>
    item.type === 'item_reference' ? (asString(item.id) ?? []) : [],
  )
  if (references.length === 0) return items
  if (references.length > maxReferences)
    throw invalidFieldError('input', `refers to more than ${maxReferences} items`)
  const wanted = references.filter((id) => !earlier.ids.has(id) && isItemId(id))
  const stored = await findReferenced(gateway, owner, wanted, earlier.bytes)
  const input = items.flatMap((item, place) => {
    if (item.type !== 'item_reference') return [item]
    const id = asString(item.id) ?? ''
    // Already in front, as part of the conversation.
    if (earlier.ids.has(id)) return []
    const found = stored.get(id)
    if (!found)
      throw invalidFieldError(`input.${place}.id`, `no stored item has the id "${id.slice(0, 100)}"`)
    return [found]
  })
  enforceSizeLimits({ input }, Number.POSITIVE_INFINITY, gateway.settings.limits)
  return input
}

/** In one request. */
const maxReferences = 1000
/** Items share pages with others, which are read along with them. */
const pageAllowance = 4

/** The stored items by id. One that is referred to twice counts twice: it is sent twice. */
async function findReferenced(
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
      throw gatewayError(
        'body_too_large',
        `input with the items it refers to is larger than ${maxBytes} bytes.`,
      )
    stored.set(id, item)
  }
  return stored
}
