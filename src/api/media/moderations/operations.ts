import { z } from 'zod'
import { chat } from '../../../formats/chat/chat.ts'
import { decodeModerations } from '../../../formats/moderations/decode.ts'
import { encodeModerations } from '../../../formats/moderations/openai.ts'
import { moderationsRequest } from '../../../formats/moderations/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders } from '../../../inference/declarations.ts'
import { moderationsTask, withModerationModel } from '../../../inference/media/moderations.ts'
import { handleCacheable } from '../../../inference/serve-cacheable.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const createModeration = defineOperation({
  id: 'createModeration',
  method: 'POST',
  path: '/moderations',
  tag: 'Moderations',
  summary: 'Classifies content by the categories of a moderation model, in the OpenAI format.',
  description:
    'Needs a model with an endpoint of the wire format `moderations`; without `model` and without one it is 404 `not_offered`.',
  permission: 'inference:write',
  inference: { encodeError: chat.client.encodeError },
  body: moderationsRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  response: z
    .looseObject({
      id: z.string(),
      model: z.string(),
      results: z.array(z.looseObject({ flagged: z.boolean() })),
    })
    .meta({ id: 'Moderations' }),
  handle: async ({ gateway, caller, region, httpRequest, body }) => {
    const named = withModerationModel(gateway, body as JsonObject)
    const incoming = { caller, region, httpRequest, body: named, decode: decodeModerations }
    return handleCacheable(gateway, incoming, moderationsTask, encodeModerations)
  },
})

export const moderationOperations = [createModeration]
