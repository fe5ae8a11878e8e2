import { z } from 'zod'
import { chat } from '../../dialects/chat/chat.ts'
import { isPlain } from '../../dialects/chat/plain.ts'
import { chatRequest } from '../../dialects/chat/schema.ts'
import { responsesCall } from '../../dialects/responses/schema.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectsOf } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import { formats } from '../../pipeline/formats.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../pipeline/operations.ts'

const createChatCompletion = operation({
  id: 'createChatCompletion',
  method: 'POST',
  path: '/chat/completions',
  tag: 'Chat',
  summary: 'Ask a model, in the OpenAI Chat Completions format',
  description: 'With `stream: true` the answer is a stream of server-sent events.',
  access: 'inference',
  inference: {
    encodeError: chat.client.encodeError,
    also: { field: 'input', body: responsesCall },
    isPlain,
    deployments: true,
  },
  body: chatRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      object: z.literal('chat.completion'),
      created: z.int(),
      model: z.string(),
      choices: z.array(z.looseObject({ index: z.int(), finish_reason: z.string().nullable() })),
    })
    .meta({ id: 'ChatCompletion' }),
  handle: ({ gateway, caller, region, request, body, source }) => {
    const given = body as JsonObject
    const format = given.input === undefined ? formats.chat : formats.responsesAsChat
    if (given.input !== undefined) refuseStored(given)
    return answer(gateway, { caller, region, request, body: given, source, format })
  },
})

export const chatOperations = [createChatCompletion]

/** What is stored is known to POST /responses alone: to forget it silently would be another conversation. */
function refuseStored({ previous_response_id, conversation, background, input }: JsonObject): void {
  const elsewhere = 'is known to POST /responses only'
  if (conversation) throw badField('conversation', elsewhere)
  if (previous_response_id) throw badField('previous_response_id', elsewhere)
  if (background === true) throw badField('background', elsewhere)
  const reference = objectsOf(input).findIndex(({ type }) => type === 'item_reference')
  if (reference !== -1) throw badField(`input.${reference}`, `a reference to a stored item ${elsewhere}`)
}
