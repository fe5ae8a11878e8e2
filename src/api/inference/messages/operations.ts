import { z } from 'zod'
import { messages } from '../../../formats/messages/messages.ts'
import { messagesRequest } from '../../../formats/messages/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { countTokens } from '../../../inference/count-tokens.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { formats } from '../../../inference/request/formats.ts'
import { handleInference } from '../../../inference/serve.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const tag = 'Messages'
const format = formats.messages

const createMessage = defineOperation({
  id: 'createMessage',
  method: 'POST',
  path: '/messages',
  tag,
  summary: 'Creates a message in the Anthropic Messages format.',
  description: 'With `stream: true` the response is a stream of server-sent events.',
  permission: 'inference:write',
  inference: messages.client,
  body: messagesRequest,
  headers: inferenceHeaders,
  errors: [...inferenceErrors, 409],
  otherContentTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      type: z.literal('message'),
      content: z.array(z.looseObject({ type: z.string() })),
    })
    .meta({ id: 'Message' }),
  handle: ({ gateway, caller, region, httpRequest, body, source }) =>
    handleInference(gateway, { caller, region, httpRequest, source, body: body as JsonObject, format }),
})

const countMessageTokens = defineOperation({
  id: 'countMessageTokens',
  method: 'POST',
  path: '/messages/count_tokens',
  tag,
  summary: 'Counts the tokens of a prompt without calling the model.',
  description:
    'Free of charge. The provider counts the tokens if it can; otherwise the number is an estimate.',
  permission: 'inference:write',
  inference: { ...messages.client, isDryRun: true },
  body: messagesRequest,
  errors: inferenceErrors,
  response: z.looseObject({ input_tokens: z.int().min(0) }).meta({ id: 'TokenCount' }),
  handle: async ({ gateway, caller, region, httpRequest, body, source }) => ({
    input_tokens: await countTokens(gateway, {
      caller,
      region,
      httpRequest,
      source,
      body: body as JsonObject,
      format,
    }),
  }),
})

export const messageOperations = [createMessage, countMessageTokens]
