import { z } from 'zod'
import { defineOperation } from '../../http/operation.ts'
import { challengeMethod, codeRequest } from './codes.ts'
import { exchangeCode } from './exchange.ts'
import { issueCode } from './issue.ts'

const tag = 'OAuth'

const authCode = z
  .strictObject({
    id: z.string().describe('The code, to be exchanged within ten minutes'),
    app_id: z.int(),
    created_at: z.string(),
  })
  .meta({ id: 'AuthCode' })

const exchangeBody = z.strictObject({
  code: z.string().min(1).max(512),
  code_verifier: z.string().max(512).optional().describe('Required when the code was made with a challenge'),
  code_challenge_method: challengeMethod.nullish().describe('If sent, it must be that of the code'),
})

const createAuthCode = defineOperation({
  id: 'createAuthCode',
  method: 'POST',
  path: '/auth/keys/code',
  tag,
  summary: 'Create an authorization code that an app exchanges for a key',
  description:
    'The code works once, within ten minutes. A challenge without a method is taken as `plain`, as RFC 7636 says; the operator can require `S256`.',
  access: 'management',
  body: codeRequest,
  errors: [409],
  response: z.strictObject({ data: authCode }),
  handle: async ({ gateway, caller, body }) => {
    const { code, appId, createdAt } = await issueCode(gateway, { ...caller, maxKeyLimit: null }, body)
    return { data: { id: code, app_id: appId, created_at: createdAt } }
  },
})

const exchangeAuthCode = defineOperation({
  id: 'exchangeAuthCode',
  method: 'POST',
  path: '/auth/keys',
  tag,
  summary: 'Exchange an authorization code for a key; the key is shown this once',
  description:
    '403 when the code is unknown, used or expired, or when the verifier is missing or wrong; a wrong verifier does not use the code up. A code that is used a second time disables the key it was exchanged for. 400 when the method is not that of the code.',
  access: 'public',
  body: exchangeBody,
  errors: [403, 409],
  response: z.strictObject({ key: z.string(), user_id: z.string().nullable() }),
  handle: ({ gateway, body }) => exchangeCode(gateway, body),
})

export const oauthOperations = [createAuthCode, exchangeAuthCode]
