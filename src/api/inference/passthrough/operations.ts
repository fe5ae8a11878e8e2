import { z } from 'zod'
import { chat } from '../../../formats/chat/chat.ts'
import { defineOperation } from '../../../http/operation.ts'
import { inferenceErrors } from '../../../inference/declarations.ts'
import { handlePassthrough } from '../../../inference/passthrough/serve.ts'
import { type PassthroughMethod, passthroughMethods } from '../../../inference/passthrough/settings.ts'

const params = z.object({
  provider: z.string().min(1).max(100).describe('The slug of a provider'),
  rest: z
    .string()
    .min(1)
    .describe('The rest of the path, slashes included: the path of the operation at the provider'),
})

/** `passThroughGet` and so on. */
function nameOperation(method: PassthroughMethod): string {
  return `passThrough${method.charAt(0)}${method.slice(1).toLowerCase()}`
}

const bodyMethods: ReadonlySet<PassthroughMethod> = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])

export const passthroughOperations = passthroughMethods.map((method) =>
  defineOperation({
    id: nameOperation(method),
    method,
    path: '/passthrough/{provider}/{rest}',
    root: true,
    tag: 'Pass-through',
    summary: `Sends a ${method} request to a provider as it is, with the credential of the gateway.`,
    description:
      'Path, query, body and reply are those of the provider. `passthrough` in headgate.yaml says which operations a workspace may use: none by default. Statuses and errors of the provider are returned as they are.',
    permission: 'inference:write',
    inference: { encodeError: chat.client.encodeError, isRelayed: true },
    params,
    ...(bodyMethods.has(method) && {
      rawBody: {
        contentType: '*/*',
        schema: z.any(),
        maxBytes: ({ limits, files }) => Math.max(limits.body_bytes, files.max_bytes),
      },
      optionalBody: true,
    }),
    errors: inferenceErrors,
    response: { contentType: '*/*' },
    handle: ({ gateway, caller, region, httpRequest, params: { provider } }) =>
      handlePassthrough(gateway, { caller, region, httpRequest, method, provider }),
  }),
)
