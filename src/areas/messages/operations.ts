import { z } from 'zod'
import { messages } from '../../dialects/messages/messages.ts'
import { messagesRequest } from '../../dialects/messages/schema.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import { countTokens } from '../../pipeline/count-tokens.ts'
import { formats } from '../../pipeline/formats.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../pipeline/operations.ts'

const tag = 'Messages'
const format = formats.messages

const createMessage = operation({
  id: 'createMessage',
  method: 'POST',
  path: '/messages',
  tag,
  summary: 'Ask a model, in the Anthropic Messages format',
  description: 'With `stream: true` the answer is a stream of server-sent events.',
  access: 'inference',
  inference: messages.client,
  body: messagesRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      type: z.literal('message'),
      content: z.array(z.looseObject({ type: z.string() })),
    })
    .meta({ id: 'Message' }),
  handle: ({ gateway, caller, region, request, body, source }) =>
    answer(gateway, { caller, region, request, source, body: body as JsonObject, format }),
})

const countMessageTokens = operation({
  id: 'countMessageTokens',
  method: 'POST',
  path: '/messages/count_tokens',
  tag,
  summary: 'Count the tokens of a prompt, without asking the model',
  description: 'Free. The provider counts where it can; otherwise the number is an estimate.',
  access: 'inference',
  inference: messages.client,
  body: messagesRequest,
  errors: inferenceErrors,
  response: z.looseObject({ input_tokens: z.int().min(0) }).meta({ id: 'TokenCount' }),
  handle: async ({ gateway, caller, region, request, body, source }) => ({
    input_tokens: await countTokens(gateway, {
      caller,
      region,
      request,
      source,
      body: body as JsonObject,
      format,
    }),
  }),
})

export const messageOperations = [createMessage, countMessageTokens]
