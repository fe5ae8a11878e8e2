import { z } from 'zod'
import { type Caller, ownerOf } from '../../../access/caller.ts'
import { transact } from '../../../access/transact.ts'
import { metadataPairs } from '../../../formats/schema/shared-fields.ts'
import { defineOperation } from '../../../http/operation.ts'
import { asString, type JsonObject } from '../../../platform/json/json-values.ts'
import {
  addItems,
  type Conversation,
  type ConversationItem,
  createConversation,
  deleteConversation,
  deleteItem,
  findConversation,
  findItem,
  listItems,
  updateConversation,
} from '../../../storage/conversations.ts'

const tag = 'Conversations'
const storedId = z.string().regex(/^[\w.:-]{1,200}$/, 'must be the id of a stored object')
const conversationPath = z.strictObject({ conversation_id: storedId })
const itemPath = z.strictObject({ conversation_id: storedId, item_id: storedId })

/** The maximum that the SDKs of this format document. */
const newItems = z.array(z.looseObject({ type: z.string().optional() })).max(20)

const conversation = z
  .strictObject({
    id: z.string(),
    object: z.literal('conversation'),
    created_at: z.int(),
    metadata: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'Conversation' })
const item = z.looseObject({ id: z.string(), type: z.string() }).meta({ id: 'ConversationItem' })
const itemList = z
  .strictObject({
    object: z.literal('list'),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  })
  .meta({ id: 'ConversationItemList' })

const createConversationOperation = defineOperation({
  id: 'createConversation',
  method: 'POST',
  path: '/conversations',
  tag,
  summary: 'Creates a conversation that responses are added to.',
  description:
    'Send its id as `conversation` in `POST /responses`: its items are prepended to the input, and the input and output are added to it. It is stored as long as responses are, counted from its last use.',
  permission: 'conversations:write',
  optionalBody: true,
  body: z.strictObject({ items: newItems.nullish(), metadata: metadataPairs.nullish() }),
  errors: [409],
  response: conversation,
  handle: async ({ gateway, caller, body }) => {
    const created = await createConversation(gateway, ownerOf(caller), {
      metadata: body.metadata ?? {},
      items: (body.items ?? []).map(normalizeItem),
      retentionDays: gateway.settings.responses.retention_days,
    })
    return toConversationObject(created)
  },
})

const getConversationOperation = defineOperation({
  id: 'getConversation',
  method: 'GET',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Retrieves a conversation.',
  permission: 'conversations:read',
  params: conversationPath,
  errors: [404],
  response: conversation,
  handle: async ({ gateway, caller, params }) =>
    toConversationObject(await findConversation(gateway, ownerOf(caller), params.conversation_id)),
})

const updateConversationOperation = defineOperation({
  id: 'updateConversation',
  method: 'POST',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Updates the metadata of a conversation.',
  permission: 'conversations:write',
  params: conversationPath,
  body: z.strictObject({ metadata: metadataPairs.nullable() }),
  errors: [404],
  response: conversation,
  handle: async ({ gateway, caller, params, body }) => {
    const { conversation_id: id } = params
    return toConversationObject(await updateConversation(gateway, ownerOf(caller), id, body.metadata ?? {}))
  },
})

const deleteConversationOperation = defineOperation({
  id: 'deleteConversation',
  method: 'DELETE',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Deletes a conversation and its items.',
  permission: 'conversations:write',
  params: conversationPath,
  errors: [404],
  response: z.strictObject({
    id: z.string(),
    object: z.literal('conversation.deleted'),
    deleted: z.literal(true),
  }),
  handle: async (context) => {
    const { gateway, caller, params } = context
    await transact(context, async (db, record) => {
      await deleteConversation({ ...gateway, db }, ownerOf(caller), params.conversation_id)
      record({ action: 'conversation.delete', ...describeConversation(caller, params.conversation_id) })
    })
    return { id: params.conversation_id, object: 'conversation.deleted' as const, deleted: true as const }
  },
})

const createConversationItems = defineOperation({
  id: 'createConversationItems',
  method: 'POST',
  path: '/conversations/{conversation_id}/items',
  tag,
  summary: 'Adds up to 20 items to a conversation.',
  permission: 'conversations:write',
  params: conversationPath,
  body: z.strictObject({ items: newItems.min(1) }),
  errors: [404],
  response: itemList,
  handle: async ({ gateway, caller, params, body }) => {
    const { retention_days } = gateway.settings.responses
    const items = body.items.map(normalizeItem)
    return toItemList(await addItems(gateway, ownerOf(caller), params.conversation_id, items, retention_days))
  },
})

const listConversationItems = defineOperation({
  id: 'listConversationItems',
  method: 'GET',
  path: '/conversations/{conversation_id}/items',
  tag,
  summary: 'Lists the items of a conversation.',
  permission: 'conversations:read',
  params: conversationPath,
  query: z.object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(['asc', 'desc']).default('desc'),
    after: storedId.optional().describe('The id of the last item on the previous page.'),
  }),
  errors: [404],
  response: itemList,
  handle: async ({ gateway, caller, params, query }) =>
    toItemList(await listItems(gateway, ownerOf(caller), params.conversation_id, query), query.limit),
})

const getConversationItem = defineOperation({
  id: 'getConversationItem',
  method: 'GET',
  path: '/conversations/{conversation_id}/items/{item_id}',
  tag,
  summary: 'Retrieves an item of a conversation.',
  permission: 'conversations:read',
  params: itemPath,
  errors: [404],
  response: item,
  handle: async ({ gateway, caller, params }) =>
    toItemObject(await findItem(gateway, ownerOf(caller), params.conversation_id, params.item_id)),
})

const deleteConversationItem = defineOperation({
  id: 'deleteConversationItem',
  method: 'DELETE',
  path: '/conversations/{conversation_id}/items/{item_id}',
  tag,
  summary: 'Deletes an item of a conversation.',
  permission: 'conversations:write',
  params: itemPath,
  errors: [404],
  response: conversation,
  handle: (context) =>
    transact(context, async (db, record) => {
      const { gateway, caller, params } = context
      const { conversation_id: id, item_id } = params
      const left = await deleteItem({ ...gateway, db }, ownerOf(caller), id, item_id)
      record({
        action: 'conversation.delete_item',
        ...describeConversation(caller, id),
        details: { item_id },
      })
      return toConversationObject(left)
    }),
})

export const conversationOperations = [
  createConversationOperation,
  getConversationOperation,
  updateConversationOperation,
  deleteConversationOperation,
  createConversationItems,
  listConversationItems,
  getConversationItem,
  deleteConversationItem,
]

/** The target of an event. */
function describeConversation({ key }: Caller, id: string) {
  return { target: { type: 'conversation', id }, workspaceId: key.workspace_id }
}

function toConversationObject({ id, createdAt, metadata }: Conversation) {
  const created_at = Math.floor(Date.parse(createdAt) / 1000)
  return { id, object: 'conversation' as const, created_at, metadata }
}

function toItemObject({ id, item: storedItem }: ConversationItem) {
  const isMessage = storedItem.type === 'message'
  return {
    ...storedItem,
    ...(isMessage && { status: 'completed' }),
    id,
    type: asString(storedItem.type) ?? 'message',
  }
}

function toItemList(items: ConversationItem[], limit = items.length) {
  const data = items.slice(0, limit).map(toItemObject)
  return {
    object: 'list' as const,
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: items.length > limit,
  }
}

/** Normalizes a message: clients may omit its type and send its content as a string. */
function normalizeItem(input: JsonObject): JsonObject {
  const role = asString(input.role)
  if (role === undefined || (input.type !== undefined && input.type !== 'message')) return input
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const { content } = input
  return {
    ...input,
    type: 'message',
    content: typeof content === 'string' ? [{ type, text: content }] : content,
  }
}
