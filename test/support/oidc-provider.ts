import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, importJWK, type JWK, type JWTHeaderParameters, SignJWT } from 'jose'
import { type Configuration, Provider } from 'oidc-provider'

/** A certified OpenID Connect provider on loopback, whose token responses a test can change. */
export interface TestProvider {
  issuer: string
  clientId: string
  clientSecret: string
  /** Claims of the provider about each of its accounts. */
  accounts: Map<string, Record<string, unknown>>
  /** Changes the claims or the header of the next ID tokens; the token is signed again with the provider's key. */
  tamper: ((claims: Record<string, unknown>) => TamperedToken) | null
  requests: string[]
  sign(claims: Record<string, unknown>, header?: Partial<JWTHeaderParameters>): Promise<string>
  /** Makes the provider sign with another key from now on. */
  rotateKeys(): Promise<void>
  stop(): Promise<void>
}

export interface TamperedToken {
  claims: Record<string, unknown>
  /** Replaces the whole token. */
  token?: string | Promise<string>
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void

export async function startOidcProvider(gatewayUrl: string): Promise<TestProvider> {
  let handler: Handler = (_, response) => response.end()
  let key = await createKey()
  const server = createServer((request, response) => {
    provider.requests.push(`${request.method} ${request.url?.split('?')[0]}`)
    if (provider.tamper && request.url === '/token') tamperResponse(response)
    handler(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider: TestProvider = {
    issuer,
    clientId: 'headgate',
    clientSecret: 'canary-client-secret-7f1e',
    accounts: new Map(),
    tamper: null,
    requests: [],
    sign: async (claims, header = {}) =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: key.kid ?? '', ...header })
        .sign(await importJWK(key, 'RS256')),
    rotateKeys: async () => {
      key = await createKey()
      handler = createHandler(provider, gatewayUrl, key)
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  handler = createHandler(provider, gatewayUrl, key)
  return provider

  /** Holds the response back, and sends it with another ID token. */
  function tamperResponse(response: ServerResponse): void {
    const end = response.end.bind(response)
    response.end = ((chunk: string | Uint8Array) => {
      void replaceIdToken(String(chunk)).then((text) => {
        response.setHeader('content-length', Buffer.byteLength(text))
        end(text)
      })
      return response
    }) as typeof response.end
  }

  async function replaceIdToken(text: string): Promise<string> {
    const body = JSON.parse(text)
    if (!body.id_token || !provider.tamper) return text
    const claims = JSON.parse(Buffer.from(body.id_token.split('.')[1], 'base64url').toString())
    const changed = provider.tamper(claims)
    return JSON.stringify({
      ...body,
      id_token: (await changed.token) ?? (await provider.sign(changed.claims)),
    })
  }
}

let keyCounter = 0

async function createKey(): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid: `key-${++keyCounter}`, use: 'sig', alg: 'RS256' }
}

function createHandler(provider: TestProvider, gatewayUrl: string, key: JWK): Handler {
  const configuration: Configuration = {
    clients: [
      {
        client_id: provider.clientId,
        client_secret: provider.clientSecret,
        redirect_uris: [`${gatewayUrl}/signin/oidc/callback`],
        post_logout_redirect_uris: [`${gatewayUrl}/signin`],
        backchannel_logout_uri: `${gatewayUrl}/signin/oidc/backchannel-logout`,
        backchannel_logout_session_required: true,
        grant_types: ['authorization_code'],
        response_types: ['code'],
      },
    ],
    jwks: { keys: [key] },
    cookies: { keys: ['test'] },
    claims: {
      openid: ['sub'],
      email: ['email', 'email_verified'],
      profile: ['given_name', 'family_name'],
      groups: ['groups', 'realm_access'],
    },
    scopes: ['openid', 'profile', 'email', 'groups'],
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: true },
      rpInitiatedLogout: { enabled: true },
      backchannelLogout: { enabled: true },
    },
    findAccount: (_, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...provider.accounts.get(id) }),
    }),
    // Consent is given: the tests are about signing in.
    loadExistingGrant: async (context) => {
      const { oidc } = context
      const grant = new oidc.provider.Grant({
        clientId: oidc.client?.clientId ?? '',
        accountId: oidc.session?.accountId ?? '',
      })
      grant.addOIDCScope('openid profile email groups')
      await grant.save()
      return grant
    },
  }
  const application = new Provider(provider.issuer, configuration)
  // Its pages load a font of another host.
  application.use(async (context, next) => {
    await next()
    if (typeof context.body === 'string') context.body = context.body.replace(/@import url\([^)]*\);/, '')
  })
  return application.callback()
}
