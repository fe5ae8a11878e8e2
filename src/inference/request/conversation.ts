import type { Gateway } from '../../gateway/gateway.ts'
import { newId } from '../../platform/crypto/ids.ts'
import type { Statement } from '../../platform/db/batch.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import { estimateJsonLength } from '../../platform/json/long-json.ts'
import { buildAppendStatements, maxItems, readConversationItems } from '../../storage/conversations.ts'
import {
  buildResponseStatements,
  findItems,
  findResponseStatus,
  isItemId,
  loadConversation,
  type Owner,
} from '../../storage/stored-responses.ts'
import { openSummaries } from './compaction.ts'
import { enforceSizeLimits } from './size-limits.ts'

/** A request whose references to stored items are resolved. */
export interface ResolvedConversation {
  body: JsonObject
  /** The input of this request, without earlier turns. */
  input: JsonObject[]
  /** Stores the reply; absent if the request disables storage. */
  store?: (reply: JsonObject) => Promise<Statement[]>
}

/** Prepends earlier turns to the input and replaces references with the stored items. */
export async function resolveConversation(
  gateway: Gateway,
  owner: Owner,
  body: JsonObject,
): Promise<ResolvedConversation> {
  const previousId = asString(body.previous_response_id) ?? null
  const conversationId = parseConversationId(body.conversation)
  if (previousId !== null && conversationId !== null)
    throw invalidFieldError('conversation', 'cannot be combined with previous_response_id')
  const history = await loadHistory(gateway, owner, previousId, conversationId)
  const input = await resolveReferences(gateway, owner, parseItems(body.input), history)
  if (conversationId !== null && history.items.length + input.length > maxItems)
    throw invalidFieldError(
      'input',
      `a conversation has at most ${maxItems} items, and this one already has ${history.items.length}`,
    )
  const { responses } = gateway.settings
  const store = typeof body.store === 'boolean' ? body.store : responses.store
  const isPlainText = history.items.length === 0 && typeof body.input === 'string'
  const resolvedInput = isPlainText ? body.input : openSummaries(gateway, owner, [...history.items, ...input])
  const conversation = conversationId === null ? {} : { conversation: { id: conversationId } }
  const request = { ...body, ...conversation, store, input: resolvedInput }
  if (!store && conversationId === null) return { body: request, input }
  const isBackground = body.background === true
  return {
    body: request,
    input,
    store: async (reply) => {
      const output = asObjects(reply.output)
      const added =
        conversationId === null
          ? []
          : await buildAppendStatements(gateway, conversationId, [...input, ...output])
      if (!store || (!isBackground && estimateJsonLength(reply, maxStoredLength) > maxStoredLength))
        return added
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

/** Longer responses are not stored, except background ones: their client has not received them yet. */
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
  /** The ids of the items. */
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
    const { items: stored, bytes } = await readConversationItems(gateway, owner, conversationId, limits)
    return { items: stored.map(({ item }) => item), bytes, ids: new Set(stored.map(({ id }) => id)) }
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

/** A response that failed or was canceled cannot be continued. */
const unusableStatuses = new Set<unknown>(['failed', 'cancelled'])

async function loadPreviousTurns(
  gateway: Gateway,
  owner: Owner,
  id: string,
  maxBytes: number,
): Promise<Pick<ConversationHistory, 'items' | 'bytes'>> {
  const status = await findResponseStatus(gateway, owner, id)
  if (unusableStatuses.has(status))
    throw invalidFieldError(
      'previous_response_id',
      `is a response that ${status === 'failed' ? 'failed' : 'was canceled'}`,
    )
  return loadConversation(gateway, owner, id, maxBytes)
}

/** Rejects other forms of ids: nothing is stored under them, and a database may reject them in a query. */
function validateId(kind: string, id: string): string {
  if (isItemId(id)) return id
  throw gatewayError('not_found', `The ${kind} does not exist or is no longer stored.`)
}

function parseItems(input: unknown): JsonObject[] {
  if (typeof input !== 'string') return asObjects(input)
  return [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: input }] }]
}

/** Replaces references with the stored items; together with earlier turns they may be as large as a body. */
async function resolveReferences(
  gateway: Gateway,
  owner: Owner,
  items: JsonObject[],
  history: ConversationHistory,
): Promise<JsonObject[]> {
  const references = items.flatMap((item) =>
    item.type === 'item_reference' ? (asString(item.id) ?? []) : [],
  )
  if (references.length === 0) return items
  if (references.length > maxReferences)
    throw invalidFieldError('input', `must have at most ${maxReferences} item references`)
  const missing = references.filter((id) => !history.ids.has(id) && isItemId(id))
  const stored = await findReferenced(gateway, owner, missing, history.bytes)
  const input = items.flatMap((item, index) => {
    if (item.type !== 'item_reference') return [item]
    const id = asString(item.id) ?? ''
    // Already included with the earlier turns.
    if (history.ids.has(id)) return []
    const storedItem = stored.get(id)
    if (!storedItem)
      throw invalidFieldError(
        `input.${index}.id`,
        `there is no stored item with the id "${id.slice(0, 100)}"`,
      )
    return [storedItem]
  })
  enforceSizeLimits({ input }, gateway.settings.limits)
  return input
}

/** References per request. */
const maxReferences = 1000
/** Items share pages with others, and whole pages are read. */
const pageAllowance = 4

/** The stored items by id. One that is referenced twice counts twice, because it is sent twice. */
async function findReferenced(
  gateway: Gateway,
  owner: Owner,
  ids: string[],
  historyBytes: number,
): Promise<Map<string, JsonObject>> {
  const { body_bytes: maxBytes } = gateway.settings.limits
  const references = new Map<string, number>()
  for (const id of ids) references.set(id, (references.get(id) ?? 0) + 1)
  const stored = new Map<string, JsonObject>()
  let bytes = historyBytes
  const matches = findItems(gateway, owner, new Set(ids), pageAllowance * maxBytes)
  for await (const { id, item } of matches) {
    bytes += (references.get(id) ?? 1) * Buffer.byteLength(JSON.stringify(item))
    if (bytes > maxBytes)
      throw gatewayError(
        'body_too_large',
        `The input with the items it references is larger than ${maxBytes} bytes.`,
      )
    stored.set(id, item)
  }
  return stored
}
