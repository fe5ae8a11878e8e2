import { z } from 'zod'
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
} from '../../account/conversations.ts'
import { labels } from '../../dialects/schema/shared-fields.ts'
import { type JsonObject, textOf } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { ownerOf } from '../../pipeline/authenticate.ts'

const tag = 'Conversations'
const storedId = z.string().regex(/^[\w.:-]{1,200}$/, 'must be the id of something stored')
const conversationPath = z.strictObject({ conversation_id: storedId })
const itemPath = z.strictObject({ conversation_id: storedId, item_id: storedId })

/** As many as the SDKs of this format say that a request may have. */
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

const createOne = operation({
  id: 'createConversation',
  method: 'POST',
  path: '/conversations',
  tag,
  summary: 'Begin a conversation that responses are added to',
  description:
    'Name it as `conversation` in `POST /responses`: what it holds goes in front of the input, and input and output are added to it. It is kept as long as stored responses are, counted from its last use.',
  access: 'inference',
  optionalBody: true,
  body: z.strictObject({ items: newItems.nullish(), metadata: labels.nullish() }),
  errors: [409],
  response: conversation,
  handle: async ({ gateway, caller, body }) => {
    const made = await createConversation(gateway, ownerOf(caller), {
      metadata: body.metadata ?? {},
      items: (body.items ?? []).map(normalised),
      retentionDays: gateway.settings.responses.retention_days,
    })
    return shown(made)
  },
})

const getOne = operation({
  id: 'getConversation',
  method: 'GET',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Read a conversation',
  access: 'inference',
  params: conversationPath,
  errors: [404],
  response: conversation,
  handle: async ({ gateway, caller, params }) =>
    shown(await findConversation(gateway, ownerOf(caller), params.conversation_id)),
})

const updateOne = operation({
  id: 'updateConversation',
  method: 'POST',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Change the metadata of a conversation',
  access: 'inference',
  params: conversationPath,
  body: z.strictObject({ metadata: labels.nullable() }),
  errors: [404],
  response: conversation,
  handle: async ({ gateway, caller, params, body }) => {
    const { conversation_id: id } = params
    return shown(await updateConversation(gateway, ownerOf(caller), id, body.metadata ?? {}))
  },
})

const deleteOne = operation({
  id: 'deleteConversation',
  method: 'DELETE',
  path: '/conversations/{conversation_id}',
  tag,
  summary: 'Delete a conversation and its items',
  access: 'inference',
  params: conversationPath,
  errors: [404],
  response: z.strictObject({
    id: z.string(),
    object: z.literal('conversation.deleted'),
    deleted: z.literal(true),
  }),
  handle: async ({ gateway, caller, params }) => {
    await deleteConversation(gateway, ownerOf(caller), params.conversation_id)
    return { id: params.conversation_id, object: 'conversation.deleted' as const, deleted: true as const }
  },
})

const createItems = operation({
  id: 'createConversationItems',
  method: 'POST',
  path: '/conversations/{conversation_id}/items',
  tag,
  summary: 'Add items to a conversation, at most 20 at a time',
  access: 'inference',
  params: conversationPath,
  body: z.strictObject({ items: newItems.min(1) }),
  errors: [404],
  response: itemList,
  handle: async ({ gateway, caller, params, body }) => {
    const { retention_days } = gateway.settings.responses
    const items = body.items.map(normalised)
    return listOf(await addItems(gateway, ownerOf(caller), params.conversation_id, items, retention_days))
  },
})

const listAll = operation({
  id: 'listConversationItems',
  method: 'GET',
  path: '/conversations/{conversation_id}/items',
  tag,
  summary: 'List the items of a conversation',
  access: 'inference',
  params: conversationPath,
  query: z.object({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(['asc', 'desc']).default('desc'),
    after: storedId.optional().describe('The id of the last item of the page before'),
  }),
  errors: [404],
  response: itemList,
  handle: async ({ gateway, caller, params, query }) =>
    listOf(await listItems(gateway, ownerOf(caller), params.conversation_id, query), query.limit),
})

const getItem = operation({
  id: 'getConversationItem',
  method: 'GET',
  path: '/conversations/{conversation_id}/items/{item_id}',
  tag,
  summary: 'Read an item of a conversation',
  access: 'inference',
  params: itemPath,
  errors: [404],
  response: item,
  handle: async ({ gateway, caller, params }) =>
    shownItem(await findItem(gateway, ownerOf(caller), params.conversation_id, params.item_id)),
})

const removeItem = operation({
  id: 'deleteConversationItem',
  method: 'DELETE',
  path: '/conversations/{conversation_id}/items/{item_id}',
  tag,
  summary: 'Delete an item of a conversation',
  access: 'inference',
  params: itemPath,
  errors: [404],
  response: conversation,
  handle: async ({ gateway, caller, params }) =>
    shown(await deleteItem(gateway, ownerOf(caller), params.conversation_id, params.item_id)),
})

export const conversationOperations = [
  createOne,
  getOne,
  updateOne,
  deleteOne,
  createItems,
  listAll,
  getItem,
  removeItem,
]

function shown({ id, createdAt, metadata }: Conversation) {
  const created_at = Math.floor(Date.parse(createdAt) / 1000)
  return { id, object: 'conversation' as const, created_at, metadata }
}

function shownItem({ id, item: given }: ConversationItem) {
  const isMessage = given.type === 'message'
  return { ...given, ...(isMessage && { status: 'completed' }), id, type: textOf(given.type) ?? 'message' }
}

function listOf(found: ConversationItem[], limit = found.length) {
  const data = found.slice(0, limit).map(shownItem)
  return {
    object: 'list' as const,
    data,
    first_id: data.at(0)?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: found.length > limit,
  }
}

/** A message in its full form: clients may leave out its type, and write its content as text. */
function normalised(given: JsonObject): JsonObject {
  const role = textOf(given.role)
  if (role === undefined || (given.type !== undefined && given.type !== 'message')) return given
  const type = role === 'assistant' ? 'output_text' : 'input_text'
  const { content } = given
  return {
    ...given,
    type: 'message',
    content: typeof content === 'string' ? [{ type, text: content }] : content,
  }
}
