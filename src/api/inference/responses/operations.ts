import { z } from 'zod'
import { ownerOf } from '../../../access/caller.ts'
import { transact } from '../../../access/transact.ts'
import { responses } from '../../../formats/responses/responses.ts'
import { responsesRequest } from '../../../formats/responses/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import {
  cancelResponse,
  readResponse,
  startBackgroundResponse,
  streamResponse,
} from '../../../inference/background.ts'
import { countTokens } from '../../../inference/count-tokens.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { resolveConversation } from '../../../inference/request/conversation.ts'
import { formats } from '../../../inference/request/formats.ts'
import { handleInference } from '../../../inference/serve.ts'
import { gatewayError } from '../../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'
import { queryBoolean } from '../../../platform/validation/query-params.ts'
import { findUnfinishedResponse } from '../../../storage/background-responses.ts'
import { deleteResponse, listInputItems } from '../../../storage/stored-responses.ts'
import { compactConversation } from './compact.ts'

const tag = 'Responses'

const idParam = z.strictObject({
  response_id: z.string().regex(/^[\w.:-]{1,200}$/, 'must be the id of a response'),
})
const responseObject = z
  .looseObject({ id: z.string(), object: z.literal('response'), output: z.array(z.looseObject({})) })
  .meta({ id: 'Response' })

const createResponse = defineOperation({
  id: 'createResponse',
  method: 'POST',
  path: '/responses',
  tag,
  summary: 'Creates a response in the OpenAI Responses format.',
  description:
    'With `stream: true` the response is a stream of server-sent events. Responses are stored on this server, for any provider, unless `store` is false. With `background: true` the request returns at once with status `queued`: poll the response until it has ended.',
  permission: 'inference:write',
  inference: responses.client,
  body: responsesRequest,
  headers: inferenceHeaders,
  errors: [...inferenceErrors, 409],
  otherContentTypes: streamTypes,
  response: responseObject,
  handle: async ({ gateway, caller, region, httpRequest, body, source }) => {
    const owner = ownerOf(caller)
    const opened = await resolveConversation(gateway, owner, body as JsonObject)
    const { input, ...rest } = opened
    const incoming = { caller, region, httpRequest, source, format: formats.responses, ...rest }
    if (rest.body.background !== true) return handleInference(gateway, incoming)
    return startBackgroundResponse(gateway, owner, incoming, input)
  },
})

const getResponse = defineOperation({
  id: 'getResponse',
  method: 'GET',
  path: '/responses/{response_id}',
  tag,
  summary: 'Retrieves a stored response.',
  description:
    'A background response can be retrieved from the start, with status `queued` or `in_progress`. With `stream=true` its events are streamed while it is generated.',
  permission: 'conversations:read',
  params: idParam,
  query: z.looseObject({
    stream: queryBoolean().optional(),
    starting_after: z.coerce
      .number()
      .int()
      .min(0)
      .optional()
      .describe('The sequence number of the last event received.'),
  }),
  errors: [404],
  otherContentTypes: streamTypes,
  response: responseObject,
  handle: async ({ gateway, caller, params, query }) => {
    const [owner, id] = [ownerOf(caller), params.response_id]
    if (query.stream) return streamResponse(gateway, owner, id, query.starting_after)
    return Response.json(await readResponse(gateway, owner, id))
  },
})

const cancelBackgroundResponse = defineOperation({
  id: 'cancelResponse',
  method: 'POST',
  path: '/responses/{response_id}/cancel',
  tag,
  summary: 'Cancels a background response.',
  description:
    'The output generated so far is charged. A response that has ended stays unchanged. A response that runs on another node is canceled within two seconds.',
  permission: 'conversations:write',
  params: idParam,
  errors: [404],
  response: responseObject,
  handle: async ({ gateway, caller, params }) =>
    Response.json(await cancelResponse(gateway, ownerOf(caller), params.response_id)),
})

const removeResponse = defineOperation({
  id: 'deleteResponse',
  method: 'DELETE',
  path: '/responses/{response_id}',
  tag,
  summary: 'Deletes a stored response.',
  permission: 'conversations:write',
  params: idParam,
  errors: [404, 409],
  response: z.strictObject({ id: z.string(), object: z.literal('response'), deleted: z.literal(true) }),
  handle: async (context) => {
    const { gateway, caller, params } = context
    const owner = ownerOf(caller)
    if (await findUnfinishedResponse(gateway, owner, params.response_id))
      throw gatewayError('conflict', 'The response is still in progress. Cancel it first.')
    await transact(context, async (db, record) => {
      await deleteResponse({ ...gateway, db }, owner, params.response_id)
      const target = { type: 'response', id: params.response_id }
      record({ action: 'response.delete', target, workspaceId: owner.workspaceId })
    })
    return { id: params.response_id, object: 'response' as const, deleted: true as const }
  },
})

const listResponseInputItems = defineOperation({
  id: 'listResponseInputItems',
  method: 'GET',
  path: '/responses/{response_id}/input_items',
  tag,
  summary: 'Lists the input items of a stored response.',
  permission: 'conversations:read',
  params: idParam,
  query: z.strictObject({
    limit: z.coerce.number().int().min(1).max(100).default(20),
    order: z.enum(['asc', 'desc']).default('desc'),
    after: z.string().max(128).optional().describe('The id of the last item on the previous page.'),
    include: z
      .string()
      .max(1000)
      .optional()
      .describe('Accepted, also as `include[]`, and ignored: items are listed with all their fields.'),
  }),
  errors: [404],
  response: z.strictObject({
    object: z.literal('list'),
    data: z.array(z.looseObject({})),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  }),
  handle: async ({ gateway, caller, params, query }) => {
    const { items: data, hasMore } = await listInputItems(gateway, ownerOf(caller), params.response_id, query)
    const idAt = (index: number) => String(data.at(index)?.id ?? '') || null
    return {
      object: 'list' as const,
      data,
      first_id: idAt(0),
      last_id: idAt(-1),
      has_more: hasMore,
    }
  },
})

const countResponseTokens = defineOperation({
  id: 'countResponseTokens',
  method: 'POST',
  path: '/responses/input_tokens',
  tag,
  summary: 'Counts the tokens of a prompt without calling the model.',
  description:
    'Free of charge. The provider counts the tokens if it can; otherwise the number is an estimate.',
  permission: 'inference:write',
  inference: { ...responses.client, isDryRun: true },
  body: responsesRequest,
  errors: inferenceErrors,
  response: z
    .strictObject({ object: z.literal('response.input_tokens'), input_tokens: z.int().min(0) })
    .meta({ id: 'ResponseInputTokens' }),
  handle: async ({ gateway, caller, region, httpRequest, body, source }) => {
    const opened = await resolveConversation(gateway, ownerOf(caller), body as JsonObject)
    const incoming = { caller, region, httpRequest, source, format: formats.responses, body: opened.body }
    return {
      object: 'response.input_tokens' as const,
      input_tokens: await countTokens(gateway, incoming),
    }
  },
})

const compactResponse = defineOperation({
  id: 'compactResponse',
  method: 'POST',
  path: '/responses/compact',
  tag,
  summary: 'Compacts a conversation to its user messages and a summary.',
  description:
    'The model writes the summary, which is charged like any request. It is encrypted for the workspace in a `compaction` item; send `output` as the input of later requests, to any model.',
  permission: 'inference:write',
  inference: responses.client,
  body: responsesRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: z
    .looseObject({
      id: z.string(),
      object: z.literal('response.compaction'),
      created_at: z.int(),
      output: z.array(z.looseObject({ type: z.string() })),
      usage: z.looseObject({}).nullable(),
    })
    .meta({ id: 'CompactedResponse' }),
  handle: ({ gateway, caller, region, httpRequest, body, source }) =>
    compactConversation(gateway, { caller, region, httpRequest, source, body: body as JsonObject }),
})

export const responseOperations = [
  createResponse,
  countResponseTokens,
  compactResponse,
  getResponse,
  cancelBackgroundResponse,
  removeResponse,
  listResponseInputItems,
]
