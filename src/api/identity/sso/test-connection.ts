import { z } from 'zod'
import { clientOf, redirectUriOf } from '../../../access/sign-in-provider.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { defineOperation } from '../../../http/operation.ts'
import { describeFailure, type OidcProvider } from '../../../identity/oidc/providers.ts'
import type { SsoConnection } from '../../../identity/sign-in-rules.ts'
import { scopesOf } from '../../../identity/sso-connections.ts'
import { requireConnection } from './connections.ts'
import { idParam, tag } from './record.ts'
import { hasVerifiedDomain } from './store.ts'

const testResult = z
  .strictObject({
    ok: z.boolean(),
    problems: z.array(z.string()).describe('What prevents people from signing in; each with a remedy.'),
    redirect_uri: z.string().describe('To register at the provider.'),
    backchannel_logout_uri: z.string().describe('To register at the provider, if it supports it.'),
    metadata: z
      .strictObject({
        authorization_endpoint: z.string().nullable(),
        token_endpoint: z.string().nullable(),
        userinfo_endpoint: z.string().nullable(),
        jwks_uri: z.string().nullable(),
        end_session_endpoint: z.string().nullable(),
      })
      .nullable()
      .describe('What the provider says about itself; null if that could not be read.'),
  })
  .meta({ id: 'SsoConnectionTest' })

const testSsoConnection = defineOperation({
  id: 'testSsoConnection',
  method: 'POST',
  path: '/organization/sso/connections/{id}/test',
  tag,
  summary: 'Reads the metadata and keys of an OpenID Connect provider, and reports what is wrong.',
  description: 'Client id and secret are not tested: only a sign-in uses them.',
  permission: 'sso:write',
  params: idParam,
  errors: [404],
  response: z.strictObject({ data: testResult }),
  handle: async ({ gateway, caller, params, httpRequest }) => {
    const row = await requireConnection(gateway.db, caller.organizationId, params.id)
    const problems: string[] = []
    const provider = await gateway.identity.oidcProviders
      .discover(clientOf(gateway, row))
      .catch((error: unknown) => void problems.push(describeFailure(error)))
    if (provider) problems.push(...(await findProblems(provider, row)))
    problems.push(...(await findDomainProblems(gateway, row)))
    const redirectUri = redirectUriOf(gateway, httpRequest)
    return {
      data: {
        ok: problems.length === 0,
        problems,
        redirect_uri: redirectUri,
        backchannel_logout_uri: redirectUri.replace(/callback$/, 'backchannel-logout'),
        metadata: provider ? toMetadata(provider) : null,
      },
    }
  },
})

export const testOperations = [testSsoConnection]

async function findProblems({ config, keys }: OidcProvider, row: SsoConnection): Promise<string[]> {
  const problems: string[] = []
  const { scopes_supported, token_endpoint_auth_methods_supported } = config.serverMetadata()
  const unknown = scopesOf(row).filter((scope) => scopes_supported && !scopes_supported.includes(scope))
  if (unknown.length > 0) problems.push(`scopes: the provider does not list ${unknown.join(', ')}.`)
  const methods = token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (!methods.includes(row.client_auth))
    problems.push(`client_auth: the provider accepts ${methods.join(', ')}.`)
  await keys
    .reload()
    .catch((error: unknown) => problems.push(`The jwks_uri could not be read. ${describeFailure(error)}`))
  return problems
}

async function findDomainProblems({ db }: Gateway, row: SsoConnection): Promise<string[]> {
  if (await hasVerifiedDomain(db, row.organization_id)) return []
  return ['The organization has no verified domain: add one and verify it.']
}

function toMetadata({ config }: OidcProvider) {
  const metadata = config.serverMetadata()
  return {
    authorization_endpoint: metadata.authorization_endpoint ?? null,
    token_endpoint: metadata.token_endpoint ?? null,
    userinfo_endpoint: metadata.userinfo_endpoint ?? null,
    jwks_uri: metadata.jwks_uri ?? null,
    end_session_endpoint: metadata.end_session_endpoint ?? null,
  }
}
