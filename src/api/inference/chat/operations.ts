import { z } from 'zod'
import { chat } from '../../../formats/chat/chat.ts'
import { readPlainRequest } from '../../../formats/chat/plain-request.ts'
import { chatRequest } from '../../../formats/chat/schema.ts'
import { responsesRequest } from '../../../formats/responses/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { ToolCallJoiner } from '../../../inference/reply/join-tool-calls.ts'
import { formats } from '../../../inference/request/formats.ts'
import { needsWholeToolCalls } from '../../../inference/request/vendor-sdk.ts'
import { handleInference } from '../../../inference/serve.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { asObjects, type JsonObject } from '../../../platform/json/json-values.ts'

const createChatCompletion = defineOperation({
  id: 'createChatCompletion',
  method: 'POST',
  path: '/chat/completions',
  tag: 'Chat',
  summary: 'Creates a chat completion in the OpenAI Chat Completions format.',
  description: 'With `stream: true` the response is a stream of server-sent events.',
  permission: 'inference:write',
  inference: {
    encodeError: chat.client.encodeError,
    alternateFormat: { field: 'input', body: responsesRequest },
    isPlain: (body) => readPlainRequest(body) !== null,
    deployments: true,
  },
  body: chatRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      object: z.literal('chat.completion'),
      created: z.int(),
      model: z.string(),
      choices: z.array(z.looseObject({ index: z.int(), finish_reason: z.string().nullable() })),
    })
    .meta({ id: 'ChatCompletion' }),
  handle: ({ gateway, caller, region, httpRequest, body, source }) => {
    const received = body as JsonObject
    const requestBody = received.random_seed === undefined ? received : renameSeed(received)
    const format = requestBody.input === undefined ? formats.chat : formats.responsesAsChat
    if (requestBody.input !== undefined) rejectStoredReferences(requestBody)
    return handleInference(gateway, {
      caller,
      region,
      httpRequest,
      body: requestBody,
      source,
      format,
      ...(requestBody.stream === true &&
        requestBody.tools !== undefined &&
        needsWholeToolCalls(httpRequest) && { replyTransforms: joinToolCalls }),
    })
  },
})

const joinToolCalls = [() => new ToolCallJoiner()]

/** The SDKs of Mistral have another name for it. */
function renameSeed({ random_seed, ...rest }: JsonObject): JsonObject {
  return { seed: random_seed, ...rest }
}

export const chatOperations = [createChatCompletion]

/** Rejects stored state, which only POST /responses resolves: ignoring it silently would change the conversation. */
function rejectStoredReferences({ previous_response_id, conversation, background, input }: JsonObject): void {
  const problem = 'is supported by POST /responses only'
  if (conversation) throw invalidFieldError('conversation', problem)
  if (previous_response_id) throw invalidFieldError('previous_response_id', problem)
  if (background === true) throw invalidFieldError('background', problem)
  const reference = asObjects(input).findIndex(({ type }) => type === 'item_reference')
  if (reference !== -1)
    throw invalidFieldError(`input.${reference}`, `a reference to a stored item ${problem}`)
}
