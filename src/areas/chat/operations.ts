import { z } from 'zod'
import { chat } from '../../dialects/chat/chat.ts'
import { isPlain } from '../../dialects/chat/plain.ts'
import { chatRequest } from '../../dialects/chat/schema.ts'
import { responses } from '../../dialects/responses/responses.ts'
import { responsesCall } from '../../dialects/responses/schema.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import type { Format } from '../../pipeline/asked.ts'
import { inferenceErrors } from '../../pipeline/operations.ts'

const format: Format = { name: 'chat', reads: chat.client, writes: chat.client, dialect: chat }

/** Some editors send a Responses body here and want chat chunks back. */
const mixedFormat: Format = { name: 'chat', reads: responses.client, writes: chat.client, dialect: null }

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
  handle: ({ gateway, caller, region, request, body, text }) => {
    const given = body as JsonObject
    const chosen = given.input === undefined ? format : mixedFormat
    return answer(gateway, { caller, region, request, body: given, text, format: chosen })
  },
})

export const chatOperations = [createChatCompletion]
