import { z } from 'zod'
import { managedBy } from '../../../http/managed-by.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { claimNamesOf, type SsoMapping, scopesOf } from '../../../identity/sso-connections.ts'
import { verificationRecordOf } from '../../../identity/sso-domains.ts'
import { fullMask } from '../../../platform/crypto/mask.ts'
import { parseEmailDomain } from '../../../platform/validation/email-address.ts'
import { lineField } from '../../../platform/validation/name-schema.ts'
import type { SsoDomain } from './store.ts'

export const tag = 'Single sign-on'
export const idParam = z.object({ id: z.uuid().toLowerCase() })

const maxMappings = 500

const mapping = z.strictObject({
  claim: lineField(256).describe(
    'The name of the claim; dots lead into objects, as in `realm_access.roles`.',
  ),
  value: lineField(512).describe('The claim is this text, or a list that contains it.'),
  workspace_id: z.uuid().toLowerCase().nullable().describe('Null: the whole organization.'),
  role: lineField(100).describe(
    '`member` or `admin` of the workspace, or the id of an additional role such as `viewer`, which is assigned in the workspace or the organization.',
  ),
})

const claimNames = z.strictObject({
  email: lineField(256).default('email'),
  email_verified: lineField(256)
    .default('email_verified')
    .describe('Must be true for a person to be linked to a member, or to become one.'),
  given_name: lineField(256).default('given_name'),
  family_name: lineField(256).default('family_name'),
})

const scopes = z
  .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/, 'must be a scope of OAuth 2.0'))
  .max(50)
  .refine((list) => list.includes('openid'), 'must include openid')

const clientAuth = z.enum(['client_secret_basic', 'client_secret_post'])

const fields = {
  name: lineField(100).describe('Shown on the sign-in page.'),
  issuer: lineField(512).describe('The issuer, exactly as the provider names itself in its metadata.'),
  client_id: lineField(512),
  client_secret: lineField(2048).describe('Stored encrypted, and masked in responses.'),
  client_auth: clientAuth.describe('How the secret is sent to the token endpoint.'),
  scopes: scopes.describe('The scopes that are requested.'),
  claims: claimNames.describe('The names of the claims that are read.'),
  mappings: z
    .array(mapping)
    .max(maxMappings)
    .describe('What members get whose claims match. They are applied at each sign-in.'),
  default_role: lineField(100).describe(
    '`org:member`, or the id of an additional role that everyone who signs in has in the organization.',
  ),
  jit: z.boolean().describe('Whether people who are not members become members when they sign in.'),
}

export const createBody = z.strictObject({
  ...fields,
  client_auth: clientAuth.default('client_secret_basic'),
  scopes: scopes.default(['openid', 'profile', 'email']),
  claims: claimNames.prefault({}),
  mappings: fields.mappings.default([]),
  default_role: fields.default_role.default('org:member'),
  jit: fields.jit.default(false),
})

export const updateBody = z.strictObject(fields).partial()

export type ConnectionInput = z.output<typeof updateBody>

export const connectionRecord = z
  .strictObject({
    id: z.uuid(),
    ...fields,
    client_secret: z.string().describe('Always masked.'),
    created_at: z.string(),
    updated_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'SsoConnection' })

export function toConnectionRecord(
  row: SsoConnection,
  mappings: SsoMapping[],
): z.input<typeof connectionRecord> {
  const own = mappings.filter(({ connection_id }) => connection_id === row.id)
  return {
    id: row.id,
    name: row.name,
    issuer: row.issuer,
    client_id: row.client_id,
    client_secret: fullMask,
    client_auth: row.client_auth,
    scopes: scopesOf(row),
    claims: claimNamesOf(row),
    mappings: own.map(({ claim, value, workspace_id, role }) => ({ claim, value, workspace_id, role })),
    default_role: row.default_role,
    jit: row.jit === 1,
    created_at: row.created_at,
    updated_at: row.updated_at,
  }
}

export const domainName = z
  .string()
  .max(253)
  .transform((text, context) => {
    const domain = parseEmailDomain(text)
    if (domain !== null) return domain
    context.addIssue({ code: 'custom', message: 'must be a domain such as example.com' })
    return z.NEVER
  })

export const domainRecord = z
  .strictObject({
    id: z.uuid(),
    domain: z.string(),
    connection_id: z.uuid().nullable(),
    verified: z.boolean(),
    verified_by: z.enum(['dns', 'operator']).nullable(),
    verified_at: z.string().nullable(),
    txt_record: z
      .strictObject({ name: z.string(), value: z.string() })
      .describe('The TXT record that verifies the domain.'),
    created_at: z.string(),
    managed_by: managedBy,
  })
  .meta({ id: 'SsoDomain' })

export function toDomainRecord(row: SsoDomain): z.input<typeof domainRecord> {
  return {
    id: row.id,
    domain: row.domain,
    connection_id: row.connection_id,
    verified: row.verified_at !== null,
    verified_by: row.verified_by,
    verified_at: row.verified_at,
    txt_record: verificationRecordOf(row),
    created_at: row.created_at,
  }
}
