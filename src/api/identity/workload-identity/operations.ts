import { z } from 'zod'
import { defineOperation } from '../../../http/operation.ts'
import type { GatewayError } from '../../../platform/errors/gateway-error.ts'
import { bodyPaceOf, readBodyText } from '../../../platform/http/body-reader.ts'
import { exchangeToken } from './exchange.ts'
import { issuerOperations } from './issuers.ts'
import { policyOperations } from './policies.ts'
import { accessTokenType, maxFormBytes, parseTokenRequest, tokenExchangeRequest } from './token-request.ts'

const tag = 'OAuth'

const tokenExchangeResponse = z
  .strictObject({
    access_token: z.string(),
    issued_token_type: z.literal(accessTokenType),
    token_type: z.literal('Bearer'),
    expires_in: z.int().describe('Seconds: at most 900, and no longer than the subject token is valid.'),
    scope: z.string(),
  })
  .meta({ id: 'TokenExchangeResponse' })

const errorCodes = [
  'invalid_request',
  'invalid_grant',
  'unsupported_grant_type',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
] as const

const oauthErrorResponse = z
  .strictObject({ error: z.enum(errorCodes), error_description: z.string() })
  .meta({ id: 'OAuthErrorResponse' })

/** RFC 6749, section 5.2. */
function encodeOAuthError(error: GatewayError): z.input<typeof oauthErrorResponse> {
  const { status, message } = error.row
  const own = errorCodes.find((code) => code === error.code)
  const byStatus = status === 500 ? 'server_error' : 'invalid_request'
  const retryable = status === 429 || status === 503
  return {
    error: own ?? (retryable ? 'temporarily_unavailable' : byStatus),
    error_description: status === 500 ? message : error.message,
  }
}

const exchangeSubjectToken = defineOperation({
  id: 'exchangeToken',
  method: 'POST',
  path: '/oauth/token',
  tag,
  summary: 'Exchanges the token of a workload for an access token (RFC 8693).',
  description:
    'The access token is sent like an API key and acts with the key of the policy. Whatever is wrong with the subject token or the policy, the error is `invalid_grant` with one message; the audit log of the organization has the reason.',
  permission: 'public',
  hasOwnCredential: true,
  rawBody: {
    contentType: 'application/x-www-form-urlencoded',
    schema: tokenExchangeRequest,
    maxBytes: () => maxFormBytes,
  },
  errors: [429, 503],
  encodeError: encodeOAuthError,
  errorSchema: oauthErrorResponse,
  // RFC 6749, sections 5.1 and 5.2.
  noStore: true,
  response: tokenExchangeResponse,
  handle: async ({ gateway, httpRequest }) => {
    const limits = { maxBytes: maxFormBytes, pace: bodyPaceOf(gateway) }
    const text = await readBodyText(httpRequest, limits)
    const parameters = parseTokenRequest(httpRequest.headers.get('content-type'), text)
    return exchangeToken({ gateway, httpRequest, ...parameters })
  },
})

const oauthJwks = z
  .strictObject({
    keys: z.array(
      z.strictObject({
        kty: z.literal('EC'),
        crv: z.literal('P-256'),
        alg: z.literal('ES256'),
        use: z.literal('sig'),
        kid: z.string(),
        x: z.string(),
        y: z.string(),
      }),
    ),
  })
  .meta({ id: 'OAuthJwks' })

const getOAuthJwks = defineOperation({
  id: 'getOAuthJwks',
  method: 'GET',
  path: '/oauth/jwks',
  tag,
  summary: 'Returns the public keys that verify access tokens.',
  permission: 'public',
  response: oauthJwks,
  handle: async ({ gateway }) => ({ keys: await gateway.identity.accessTokens.listPublicKeys() }),
})

export const workloadIdentityOperations = [
  exchangeSubjectToken,
  getOAuthJwks,
  ...issuerOperations,
  ...policyOperations,
]
