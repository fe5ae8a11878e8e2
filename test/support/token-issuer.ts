import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { TestServer } from './harness.ts'

type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>['privateKey']

export interface IssuerKey {
  kid: string
  alg: 'ES256' | 'RS256'
  privateKey: PrivateKey
  publicJwk: JWK
}

export async function createIssuerKey(kid: string, alg: IssuerKey['alg'] = 'ES256'): Promise<IssuerKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** An issuer of workload tokens on loopback. What it serves can be changed. */
export interface TokenIssuer {
  url: string
  host: string
  key: IssuerKey
  /** JSON Web Key Set of the issuer. */
  keys: JWK[]
  /** Members of its OpenID configuration that differ. */
  configuration: Record<string, unknown>
  /** The status of its replies. */
  status: number
  /** Paths it was asked for. */
  requests: string[]
  sign(claims: JWTPayload, options?: { key?: IssuerKey; header?: Record<string, unknown> }): Promise<string>
  stop(): Promise<void>
}

export async function startTokenIssuer(): Promise<TokenIssuer> {
  const key = await createIssuerKey('first')
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: (request) => {
      const { pathname } = new URL(request.url)
      issuer.requests.push(pathname)
      const { url, keys, configuration, status } = issuer
      const document = pathname.startsWith('/.well-known/')
        ? { issuer: url, jwks_uri: `${url}/keys`, ...configuration }
        : { keys }
      return Response.json(document, { status })
    },
  })
  server.unref()
  const host = `127.0.0.1:${server.port}`
  const issuer: TokenIssuer = {
    url: `http://${host}`,
    host,
    key,
    keys: [key.publicJwk],
    configuration: {},
    status: 200,
    requests: [],
    sign: (claims, options = {}) => {
      const { alg, kid, privateKey } = options.key ?? issuer.key
      const header = { alg, kid, typ: 'JWT', ...options.header }
      return new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
    },
    stop: () => server.stop(true),
  }
  return issuer
}

/** Lets the gateway connect to the issuer. */
export function allowIssuer({ gateway }: TestServer, { host }: TokenIssuer): void {
  const { egress } = gateway.settings
  gateway.settings = {
    ...gateway.settings,
    egress: { ...egress, allow_private: [...egress.allow_private, host] },
  }
}

export const tokenAudience = 'https://gate.example.com'
export const workloadSubject = 'repo:acme/app:ref:refs/heads/main'

/** The claims of a token that is valid for an hour. */
export function buildClaims({ clock }: TestServer, issuer: TokenIssuer): JWTPayload {
  const now = Math.floor(clock.now() / 1000)
  return { iss: issuer.url, sub: workloadSubject, aud: tokenAudience, iat: now, nbf: now, exp: now + 3600 }
}

export function buildExchange(policyId: string, token: string): Record<string, string> {
  return {
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token: token,
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    federation_policy_id: policyId,
  }
}
