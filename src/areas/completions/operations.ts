import { z } from 'zod'
import { completions } from '../../dialects/completions/completions.ts'
import { completionsRequest } from '../../dialects/completions/schema.ts'
import type { JsonObject } from '../../lib/loose.ts'
import { operation } from '../../operation.ts'
import { answer } from '../../pipeline/answer.ts'
import { formats } from '../../pipeline/formats.ts'
import { inferenceErrors, inferenceHeaders, streamTypes } from '../../pipeline/operations.ts'

const createCompletion = operation({
  id: 'createCompletion',
  method: 'POST',
  path: '/completions',
  tag: 'Chat',
  summary: 'Complete a prompt, in the format before chat',
  description: 'For clients that know nothing else. The prompt is asked as a single user message.',
  access: 'inference',
  inference: { encodeError: completions.encodeError, deployments: true },
  body: completionsRequest,
  headers: inferenceHeaders,
  errors: inferenceErrors,
  otherTypes: streamTypes,
  response: z
    .looseObject({
      id: z.string(),
      object: z.literal('text_completion'),
      choices: z.array(z.looseObject({ text: z.string() })),
    })
    .meta({ id: 'Completion' }),
  handle: ({ gateway, caller, region, request, body, source }) =>
    answer(gateway, {
      caller,
      region,
      request,
      source,
      body: body as JsonObject,
      format: formats.completions,
    }),
})

export const completionOperations = [createCompletion]
