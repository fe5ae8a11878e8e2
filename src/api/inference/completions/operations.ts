import { z } from 'zod'
import { completions } from '../../../formats/completions/completions.ts'
import { completionsRequest } from '../../../formats/completions/schema.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../../inference/declarations.ts'
import { formats } from '../../../inference/request/formats.ts'
import { handleInference } from '../../../inference/serve.ts'
import type { JsonObject } from '../../../platform/json/json-values.ts'

const createCompletion = defineOperation({
  id: 'createCompletion',
  method: 'POST',
  path: '/completions',
  tag: 'Chat',
  summary: 'Completes a prompt in the legacy OpenAI Completions format.',
  description:
    'For clients that do not support chat completions. The prompt is sent as a single user message.',
  permission: 'inference:write',
  inference: { encodeError: completions.encodeError, deployments: true },
  body: completionsRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherContentTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      object: z.literal('text_completion'),
      choices: z.array(z.looseObject({ text: z.string() })),
    })
    .meta({ id: 'Completion' }),
  handle: ({ gateway, caller, region, httpRequest, body, source }) =>
    handleInference(gateway, {
      caller,
      region,
      httpRequest,
      source,
      body: body as JsonObject,
      format: formats.completions,
    }),
})

export const completionOperations = [createCompletion]
