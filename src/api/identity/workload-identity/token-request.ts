import { z } from 'zod'
import { gatewayError, invalidFieldError } from '../../../platform/errors/gateway-error.ts'

const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
const subjectTokenType = 'urn:ietf:params:oauth:token-type:jwt'
export const accessTokenType = 'urn:ietf:params:oauth:token-type:access_token'
const scope = 'inference'

export const maxFormBytes = 32 * 1024 - 1
const maxTokenBytes = 16 * 1024

export const tokenExchangeRequest = z
  .strictObject({
    grant_type: z.literal(grantType),
    subject_token: z.string().min(1).max(maxTokenBytes),
    subject_token_type: z.literal(subjectTokenType),
    federation_policy_id: z.string().min(1),
    requested_token_type: z.literal(accessTokenType).optional(),
    scope: z.literal(scope).optional(),
  })
  .meta({ id: 'TokenExchangeRequest' })

export interface TokenExchange {
  policyId: string
  subjectToken: string
}

const fields = Object.keys(tokenExchangeRequest.shape)

/** The parameters of a form (RFC 6749, RFC 8693). One without a value counts as absent. */
export function parseTokenRequest(contentType: string | null, text: string): TokenExchange {
  if (contentType?.split(';')[0]?.trim().toLowerCase() !== 'application/x-www-form-urlencoded')
    throw invalidFieldError('body', 'must be of the type application/x-www-form-urlencoded')
  const form = new URLSearchParams(text)
  const names = [...form.keys()]
  const seen = new Set<string>()
  const repeated = names.find((name) => seen.size === seen.add(name).size)
  if (repeated !== undefined) throw invalidFieldError(nameOf(repeated), 'is repeated; send it once')
  const read = (name: string) => form.get(name) || undefined
  const readRequired = (name: string) => {
    const value = read(name)
    if (value === undefined) throw invalidFieldError(name, 'is required')
    return value
  }
  if (readRequired('grant_type') !== grantType)
    throw gatewayError('unsupported_grant_type', `grant_type: must be ${grantType}`)
  const unknown = names.find((name) => !fields.includes(name) && read(name) !== undefined)
  if (unknown !== undefined) throw invalidFieldError(nameOf(unknown), 'is not a parameter of this operation')
  if ((read('scope') ?? scope) !== scope) throw gatewayError('invalid_scope', `scope: must be ${scope}`)
  if ((read('requested_token_type') ?? accessTokenType) !== accessTokenType)
    throw invalidFieldError('requested_token_type', `must be ${accessTokenType}`)
  if (readRequired('subject_token_type') !== subjectTokenType)
    throw invalidFieldError('subject_token_type', `must be ${subjectTokenType}`)
  const subjectToken = readRequired('subject_token')
  if (subjectToken.length > maxTokenBytes)
    throw invalidFieldError('subject_token', `must have at most ${maxTokenBytes} characters`)
  return { policyId: readRequired('federation_policy_id'), subjectToken }
}

/** A name is quoted in the error, whatever was sent. */
function nameOf(name: string): string {
  return name.replace(/[^\w.-]/g, '?').slice(0, 64) || '?'
}
