import { z } from 'zod'
import { chat } from '../../dialects/chat/chat.ts'
import { isPlain } from '../../dialects/chat/plain.ts'
import { chatRequest } from '../../dialects/chat/schema.ts'
import { responses } from '../../dialects/responses/responses.ts'
import { responsesCall } from '../../dialects/responses/schema.ts'
import { badField } from '../../errors.ts'
import { type JsonObject, objectsOf } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import type { Format } from '../../pipeline/asked.ts'
import { inferenceErrors } from '../../pipeline/operations.ts'
import { presetTargets } from '../../pipeline/preset.ts'

const format: Format = {
  name: 'chat',
  presets: presetTargets.chat,
  reads: chat.client,
  writes: chat.client,
  dialect: chat,
}

/** Some editors send a Responses body here and want chat chunks back. */
const mixedFormat: Format = {
  name: 'chat',
  presets: presetTargets.responses,
  reads: responses.client,
  writes: chat.client,
  dialect: null,
}

const createChatCompletion = operation({
  id: 'createChatCompletion',
  method: 'POST',
  path: '/chat/completions',
  tag: 'Chat',
  summary: 'Ask a model, in the OpenAI Chat Completions format',
  description: 'With `stream: true` the answer is a stream of server-sent events.',
  access: 'inference',
  inference: { encodeError: chat.client.encodeError, also: { field: 'input', body: responsesCall }, isPlain },
  body: chatRequest,
  errors: inferenceErrors,
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
    const chosen = given.input === undefined ? format : mixedFormat
    if (given.input !== undefined) refuseStored(given)
    return answer(gateway, { caller, region, request, body: given, source, format: chosen })
  },
})

export const chatOperations = [createChatCompletion]

/** What is stored is known to POST /responses alone: to forget it silently would be another conversation. */
function refuseStored({ previous_response_id, input }: JsonObject): void {
  const elsewhere = 'is known to POST /responses only'
  if (previous_response_id) throw badField('previous_response_id', elsewhere)
  const reference = objectsOf(input).findIndex(({ type }) => type === 'item_reference')
  if (reference !== -1) throw badField(`input.${reference}`, `a reference to a stored item ${elsewhere}`)
}
