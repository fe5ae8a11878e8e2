import type { Gateway } from '../gateway/gateway.ts'
import type { OidcProvider, ProviderClient } from '../identity/oidc/providers.ts'
import type { SsoConnection } from '../identity/sign-in-rules.ts'
import { openClientSecret } from '../identity/sso-connections.ts'
import { resolvePublicUrl } from './origin.ts'

export function clientOf({ vault, audit }: Gateway, connection: SsoConnection): ProviderClient {
  const { id, name, organization_id: organizationId, issuer, client_id, client_auth } = connection
  audit.secretUses.addOwned('sso_connection', id, { organizationId, workspaceId: null, name })
  return { id, issuer, client_id, client_auth, clientSecret: openClientSecret(vault, connection) }
}

/** The provider of a connection; its metadata is cached. */
export function loadProvider(gateway: Gateway, connection: SsoConnection): Promise<OidcProvider> {
  const version = `${connection.updated_at} ${connection.sealed_client_secret}`
  return gateway.identity.oidcProviders.get(connection.id, version, () => clientOf(gateway, connection))
}

/** The URL to which the provider sends the browser back. */
export function redirectUriOf(gateway: Gateway, httpRequest: Request): string {
  return `${resolvePublicUrl(gateway, httpRequest)}/signin/oidc/callback`
}
