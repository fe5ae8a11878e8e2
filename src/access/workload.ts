import type { Gateway } from '../gateway/gateway.ts'
import { isAccessToken, type WorkloadIdentity } from '../identity/access-tokens.ts'
import { type ApiKey, findKeyById } from '../identity/keys.ts'
import { gatewayError } from '../platform/errors/gateway-error.ts'
import { resolveSiteUrl } from './site-url.ts'

/** The beginning of every JWT: the base64 of `{"`. No generated API key begins with it. */
export const tokenPrefix = 'eyJ'

/** The issuer of access tokens, which is also their audience. */
export function resolveTokenIssuer({ config, settings }: Gateway): string {
  return resolveSiteUrl({ config, settings, port: config.port })
}

/** The workload of an access token and the key it acts with; undefined if the credential is not such a token. */
export async function authenticateWorkload(
  gateway: Gateway,
  credential: string,
  allowCached: boolean,
): Promise<{ key: ApiKey | undefined; workload: WorkloadIdentity } | undefined> {
  if (!(await isAccessToken(credential))) return undefined
  const workload = await gateway.identity.accessTokens.verify(credential, resolveTokenIssuer(gateway))
  if (!workload) {
    throw gatewayError(
      'credential_invalid',
      'The access token is invalid or has expired. Exchange another one at POST /oauth/token.',
    )
  }
  const key = await (allowCached
    ? gateway.accounts.findKeyById(workload.keyId)
    : findKeyById(gateway.db, workload.keyId))
  return { key, workload }
}
