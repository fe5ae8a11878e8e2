import { z } from 'zod'
import { resolveOrigin } from '../../../access/transact.ts'
import { defineOperation } from '../../../http/operation.ts'
import { challengeMethod, codeRequest } from './codes.ts'
import { exchangeCode } from './exchange.ts'
import { issueCode } from './issue.ts'

const tag = 'OAuth'

const authCode = z
  .strictObject({
    id: z.string().describe('The authorization code, valid for ten minutes.'),
    app_id: z.int(),
    created_at: z.string(),
  })
  .meta({ id: 'AuthCode' })

const exchangeBody = z.strictObject({
  code: z.string().min(1).max(512),
  code_verifier: z
    .string()
    .max(512)
    .optional()
    .describe('The PKCE code verifier. Required if the code was created with a challenge.'),
  code_challenge_method: challengeMethod.nullish().describe('If sent, it must match the method of the code.'),
})

const createAuthCode = defineOperation({
  id: 'createAuthCode',
  method: 'POST',
  path: '/auth/keys/code',
  tag,
  summary: 'Creates an authorization code that an app exchanges for an API key.',
  description:
    'The code is valid once, for ten minutes. A challenge without a method uses `plain`, as RFC 7636 defines; the operator can require `S256`.',
  permission: 'keys:write',
  body: codeRequest,
  errors: [409],
  response: z.strictObject({ data: authCode }),
  handle: async (request) => {
    const { gateway, caller, scope, body } = request
    const { organizationId, userId } = caller
    const owner = { organizationId, userId, scope, origin: await resolveOrigin(request) }
    const { code, appId, createdAt } = await issueCode(gateway, owner, body)
    return { data: { id: code, app_id: appId, created_at: createdAt } }
  },
})

const exchangeAuthCode = defineOperation({
  id: 'exchangeAuthCode',
  method: 'POST',
  path: '/auth/keys',
  tag,
  summary: 'Exchanges an authorization code for an API key. The key is shown only once.',
  description:
    'Returns 403 if the code is unknown, used or expired, or if the verifier is missing or wrong; a wrong verifier does not use up the code. Using a code a second time disables the key it was exchanged for. Returns 400 if the method does not match the code.',
  permission: 'public',
  hasOwnCredential: true,
  body: exchangeBody,
  errors: [403, 409],
  response: z.strictObject({ key: z.string(), user_id: z.string().nullable() }),
  handle: (request) => exchangeCode(request, request.body),
})

export const oauthOperations = [createAuthCode, exchangeAuthCode]
