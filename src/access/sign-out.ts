import { findConnection } from '../account/sso-connections.ts'
import { findSsoSession, idTokenContext } from '../account/sso-sessions.ts'
import type { Gateway } from '../app/gateway.ts'
import { findUrlProblem } from '../lib/egress-policy.ts'
import { loadOidcClient } from '../oidc/client.ts'
import { resolvePublicUrl } from './origin.ts'
import { loadProvider } from './sign-in-provider.ts'

/**
 * Where the browser signs out at the identity provider that the session was started with; null if there is none. Call
 * it before the session is deleted.
 */
export async function findProviderSignOutUrl(
  gateway: Gateway,
  httpRequest: Request,
  sessionToken: string,
): Promise<string | null> {
  const session = await findSsoSession(gateway.db, sessionToken)
  const connection = session && (await findConnection(gateway.db, session.connection_id))
  if (!session || !connection) return null
  const provider = await loadProvider(gateway, connection).catch(() => null)
  const endpoint = provider?.config.serverMetadata().end_session_endpoint
  if (!provider || endpoint === undefined) return null
  if (findUrlProblem(URL.parse(endpoint), gateway.settings.egress.allow_private)) return null
  const { buildEndSessionUrl } = await loadOidcClient()
  const url = buildEndSessionUrl(provider.config, {
    id_token_hint: gateway.vault.open(session.sealed_id_token, idTokenContext(session.token_hash)),
    post_logout_redirect_uri: `${resolvePublicUrl(gateway, httpRequest)}/signin`,
  })
  return url.href
}
