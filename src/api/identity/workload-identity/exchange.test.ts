import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import {
  createRemoteJWKSet,
  decodeJwt,
  decodeProtectedHeader,
  exportSPKI,
  importJWK,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from 'jose'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import {
  allowIssuer,
  buildClaims,
  buildExchange,
  createIssuerKey,
  type IssuerKey,
  startTokenIssuer,
  type TokenIssuer,
  tokenAudience,
  workloadSubject,
} from '../../../../test/support/token-issuer.ts'
import { JwksCache } from '../../../identity/oidc/jwks-cache.ts'
import { MinuteRateLimiter } from '../../../platform/concurrency/rate-limiter.ts'

const genericMessage = 'The subject token is not accepted by this policy.'

describeOnEachDatabase('POST /oauth/token', (server) => {
  let issuer: TokenIssuer
  let issuerId: string
  let rsa: IssuerKey
  beforeAll(async () => {
    issuer = await startTokenIssuer()
    rsa = await createIssuerKey('rsa', 'RS256')
    issuer.keys = [issuer.key.publicJwk, rsa.publicJwk]
    allowIssuer(server(), issuer)
    issuerId = await createIssuer({ issuer: issuer.url })
  })
  afterAll(() => issuer.stop())
  beforeEach(() => {
    const { clock, gateway } = server()
    clock.release()
    const jwks = new JwksCache(clock, () => ({ allowPrivate: gateway.settings.egress.allow_private }))
    Object.assign(gateway.identity, { jwks })
    Object.assign(gateway, { rateLimiter: new MinuteRateLimiter() })
    Object.assign(issuer, { status: 200, configuration: {}, requests: [] })
    issuer.keys = [issuer.key.publicJwk, rsa.publicJwk]
  })

  const manage = async (method: string, path: string, body?: unknown) => {
    const response = await server().call(method, path, body === undefined ? {} : { body })
    expect(response.status).toBeLessThan(300)
    return response.body.data
  }
  const createIssuer = async (more: Record<string, unknown>): Promise<string> =>
    (await manage('POST', '/workload-identity/issuers', { name: 'CI', ...more })).id
  const createKey = async (more: Record<string, unknown> = {}): Promise<string> =>
    (await manage('POST', '/keys', { name: 'deploy', ...more })).hash
  const createPolicy = async (more: Record<string, unknown> = {}): Promise<string> => {
    const body = {
      name: 'Deploy',
      issuer_id: issuerId,
      audience: tokenAudience,
      subject: workloadSubject,
      key_hash: more.key_hash ?? (await createKey()),
      ...more,
    }
    return (await manage('POST', '/workload-identity/policies', body)).id
  }
  const claims = (more: Record<string, unknown> = {}): JWTPayload => ({
    ...buildClaims(server(), issuer),
    ...more,
  })
  const post = (body: URLSearchParams | string, headers: Record<string, string> = {}) =>
    server().call('POST', '/oauth/token', {
      key: null,
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })
  const exchange = async (policyId: string, token: string, more: Record<string, string> = {}) =>
    post(new URLSearchParams({ ...buildExchange(policyId, token), ...more }))
  const exchangeClaims = async (policyId: string, more: Record<string, unknown> = {}) =>
    exchange(policyId, await issuer.sign(claims(more)))
  const expectRefused = (response: { status: number; body: unknown; headers: Headers }) => {
    expect([response.status, response.body]).toEqual([
      400,
      { error: 'invalid_grant', error_description: genericMessage },
    ])
    expect(response.headers.get('cache-control')).toBe('no-store')
  }
  const listEntries = (policyId: string) =>
    server()
      .gateway.db.selectFrom('audit_entries')
      .selectAll()
      .where('target_id', '=', policyId)
      .where('action', '=', 'workload_token.issue')
      .orderBy('seq')
      .execute()
  const expectReason = async (policyId: string, reason: string) => {
    const entry = (await listEntries(policyId)).at(-1)
    expect(entry).toMatchObject({ outcome: 'refused', actor_type: 'workload' })
    expect(JSON.parse(entry?.changes ?? '{}').details.reason).toContain(reason)
  }
  const chat = (headers: Record<string, string>, path = '/chat/completions') =>
    fetch(`${server().url}/api/v1${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        model: 'sandbox/echo',
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    })
  const issue = async (more: Record<string, unknown> = {}): Promise<{ token: string; policyId: string }> => {
    const policyId = await createPolicy(more)
    const response = await exchangeClaims(policyId)
    expect(response.status).toBe(200)
    return { token: response.body.access_token, policyId }
  }
  const use = async (token: string) => (await chat({ authorization: `Bearer ${token}` })).status

  describe('an exchange', () => {
    test('issues a token that acts with the key of the policy', async () => {
      const hash = await createKey()
      const policyId = await createPolicy({ key_hash: hash })
      const response = await exchangeClaims(policyId)
      expect(response.status).toBe(200)
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.body).toEqual({
        access_token: expect.any(String),
        issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
        token_type: 'Bearer',
        expires_in: 900,
        scope: 'inference',
      })
      const token = response.body.access_token
      const reply = await chat({ authorization: `Bearer ${token}` })
      expect(reply.status).toBe(200)
      const { id } = (await reply.json()) as { id: string }
      const key = await server()
        .gateway.db.selectFrom('api_keys')
        .selectAll()
        .where('hash', '=', hash)
        .executeTakeFirstOrThrow()
      await server().gateway.ledger.flush()
      const generation = await server()
        .gateway.db.selectFrom('generations')
        .select('key_id')
        .where('id', '=', id)
        .executeTakeFirstOrThrow()
      expect(generation.key_id).toBe(key.id)
    })

    test('the token is an ES256 at+jwt that others verify with GET /oauth/jwks', async () => {
      const { token, policyId } = await issue()
      expect(decodeProtectedHeader(token)).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) })
      const keys = createRemoteJWKSet(new URL(`${server().url}/api/v1/oauth/jwks`))
      const { payload } = await jwtVerify(token, keys, { typ: 'at+jwt', algorithms: ['ES256'] })
      expect(payload).toMatchObject({ sub: workloadSubject, scope: 'inference', client_id: policyId })
      expect(payload.iss).toBe(String(payload.aud))
      expect(payload.jti).toBeString()
      const response = await server().call('GET', '/oauth/jwks', { key: null })
      expect(Object.keys(response.body.keys[0]).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      const rows = await server().gateway.db.selectFrom('signing_keys').selectAll().execute()
      expect(rows).toHaveLength(1)
      expect(JSON.stringify(rows)).not.toContain('"d"')
    })

    test('accepts RS256, one audience in a list, and the same token again', async () => {
      const policyId = await createPolicy()
      const token = await issuer.sign(claims({ aud: [tokenAudience] }), { key: rsa })
      for (const _ of [1, 2]) expect((await exchange(policyId, token)).status).toBe(200)
    })

    test('the token expires with the subject token, and not after fifteen minutes', async () => {
      const policyId = await createPolicy()
      const now = Math.floor(server().clock.now() / 1000)
      const short = await exchangeClaims(policyId, { exp: now + 100 })
      expect(short.body.expires_in).toBeWithin(90, 101)
      expect(decodeJwt(short.body.access_token).exp).toBe(now + 100)
      expect(await use(short.body.access_token)).toBe(200)
      server().clock.advance(101_000)
      expect(await use(short.body.access_token)).toBe(401)
      const long = await exchangeClaims(policyId)
      server().clock.advance(890_000)
      expect(await use(long.body.access_token)).toBe(200)
      server().clock.advance(11_000)
      expect(await use(long.body.access_token)).toBe(401)
    })

    test('and each refusal are in the audit log, with the subject', async () => {
      const policyId = await createPolicy()
      await exchangeClaims(policyId)
      await exchangeClaims(policyId, { aud: 'https://other.example' })
      await exchange(policyId, 'garbage')
      expect(await listEntries(policyId)).toMatchObject([
        { outcome: 'success', actor_type: 'workload', actor_id: policyId, actor_name: workloadSubject },
        { outcome: 'refused', actor_type: 'workload', actor_id: policyId, actor_name: workloadSubject },
        { outcome: 'refused', actor_type: 'workload', actor_id: null, actor_name: null },
      ])
    })
  })

  describe('parameters', () => {
    const form = async (change: (form: URLSearchParams) => void) => {
      const parameters = new URLSearchParams(buildExchange(await createPolicy(), await issuer.sign(claims())))
      change(parameters)
      return post(parameters)
    }
    test.each([['grant_type'], ['subject_token'], ['subject_token_type'], ['federation_policy_id']])(
      'without %s it is invalid_request',
      async (name) => {
        for (const change of [
          (f: URLSearchParams) => f.delete(name),
          (f: URLSearchParams) => f.set(name, ''),
          (f: URLSearchParams) => f.append(name, 'again'),
        ]) {
          const response = await form(change)
          expect([response.status, response.body.error]).toEqual([400, 'invalid_request'])
          expect(response.body.error_description).toStartWith(`${name}: `)
        }
      },
    )
    test.each([
      ['grant_type', 'authorization_code', 'unsupported_grant_type'],
      ['grant_type', 'client_credentials', 'unsupported_grant_type'],
      ['scope', 'admin', 'invalid_scope'],
      ['scope', 'inference admin', 'invalid_scope'],
      ['subject_token_type', 'urn:ietf:params:oauth:token-type:access_token', 'invalid_request'],
      ['requested_token_type', 'urn:ietf:params:oauth:token-type:jwt', 'invalid_request'],
      ['actor_token', 'x', 'invalid_request'],
      ['audience', 'x', 'invalid_request'],
      ['resource', 'https://x.example', 'invalid_request'],
      ['client_secret', 'x', 'invalid_request'],
      ['subject_token', 'x'.repeat(16_385), 'invalid_request'],
    ])('%s=%s is %p', async (name, value, error) => {
      const response = await form((f) => f.set(name, value))
      expect([response.status, response.body.error]).toEqual([400, error])
      expect(response.body.error_description).toStartWith(`${name}: `)
      expect(response.headers.get('cache-control')).toBe('no-store')
    })
    test('what is the default may be sent', async () => {
      const response = await form((f) => {
        f.set('scope', 'inference')
        f.set('requested_token_type', 'urn:ietf:params:oauth:token-type:access_token')
        f.set('audience', '')
      })
      expect(response.status).toBe(200)
    })
    test('JSON is refused, and a body of 32 KB is 413', async () => {
      const json = await post('{}', { 'content-type': 'application/json' })
      expect([json.status, json.body.error]).toEqual([400, 'invalid_request'])
      const large = await post(`x=${'a'.repeat(32 * 1024)}`)
      expect([large.status, large.body.error]).toEqual([413, 'invalid_request'])
    })
    test.each([
      ['a body that is declared too large', 413, `x=${'a'.repeat(32 * 1024)}`, {}],
      ['another content type', 400, '{}', { 'content-type': 'application/json' }],
      ['an empty body', 400, '', {}],
    ])('RFC 6749, 5.1: the error is not cached for %s', async (_, status, body, headers) => {
      const response = await post(body, headers)
      expect([response.status, response.body.error]).toEqual([status, 'invalid_request'])
      expect(response.headers.get('cache-control')).toBe('no-store')
      expect(response.headers.get('pragma')).toBe('no-cache')
    })
  })

  describe('a subject token is refused', () => {
    const seconds = () => Math.floor(server().clock.now() / 1000)
    const cases: [string, string, () => Record<string, unknown>][] = [
      ['with another audience', 'audience', () => ({ aud: 'https://other.example' })],
      ['with several audiences', 'claim aud', () => ({ aud: [tokenAudience, 'https://other.example'] })],
      ['without audience', 'claim aud', () => ({ aud: undefined })],
      ['with another subject', 'subject', () => ({ sub: `${workloadSubject}x` })],
      ['with a subject in another case', 'subject', () => ({ sub: workloadSubject.toUpperCase() })],
      ['without subject', 'claim sub', () => ({ sub: undefined })],
      ['with a NUL in its subject', 'claim sub', () => ({ sub: 'a\0b' })],
      ['of another issuer', 'issuer', () => ({ iss: 'https://other.example' })],
      ['of an issuer with another slash', 'issuer', () => ({ iss: `${issuer.url}/` })],
      ['without issuer', 'issuer', () => ({ iss: undefined })],
      ['without expiry', 'claim exp', () => ({ exp: undefined })],
      ['that expired', 'expired', () => ({ exp: seconds() - 1 })],
      ['that is not valid yet', 'not yet valid', () => ({ nbf: seconds() + 90 })],
      ['that was issued in the future', 'not yet valid', () => ({ iat: seconds() + 90 })],
      ['with hundreds of scopes', 'too many scopes', () => ({ scope: 'a '.repeat(101) })],
    ]
    test.each(cases)('%s', async (_, reason, change) => {
      const policyId = await createPolicy()
      expectRefused(await exchangeClaims(policyId, change()))
      await expectReason(policyId, reason)
    })

    test.each([
      ['crit', { crit: ['exp'], exp: 1 }],
      ['jwk', { jwk: { kty: 'EC' } }],
      ['jku', { jku: 'https://evil.example/keys' }],
      ['x5u', { x5u: 'https://evil.example/cert' }],
      ['x5c', { x5c: ['MIIB'] }],
    ])('with the header %s', async (_, header) => {
      const policyId = await createPolicy()
      const input = Buffer.from(JSON.stringify({ alg: 'ES256', kid: 'first', ...header })).toString(
        'base64url',
      )
      const [, payload, signature] = (await issuer.sign(claims())).split('.')
      expectRefused(await exchange(policyId, `${input}.${payload}.${signature}`))
      await expectReason(policyId, 'header')
    })

    test('with the type of another kind of token', async () => {
      const policyId = await createPolicy()
      for (const typ of ['logout+jwt', 'dpop+jwt', 'secevent+jwt', '']) {
        expectRefused(await exchange(policyId, await issuer.sign(claims(), { header: { typ } })))
        await expectReason(policyId, 'type')
      }
    })

    test('that is not signed, or with a shared secret made of the public key', async () => {
      const policyId = await createPolicy()
      const payload = Buffer.from(JSON.stringify(claims())).toString('base64url')
      const encode = (header: object) => Buffer.from(JSON.stringify(header)).toString('base64url')
      for (const alg of ['none', 'None', 'NONE']) {
        expectRefused(await exchange(policyId, `${encode({ alg })}.${payload}.`))
        await expectReason(policyId, 'algorithm')
      }
      const publicKey = await importJWK(rsa.publicJwk, 'RS256')
      const pem = await exportSPKI(publicKey as CryptoKey)
      const signed = `${encode({ alg: 'HS256', kid: 'rsa' })}.${payload}`
      const mac = createHmac('sha256', pem).update(signed).digest('base64url')
      expectRefused(await exchange(policyId, `${signed}.${mac}`))
      await expectReason(policyId, 'algorithm')
    })

    test('whose payload or signature was changed', async () => {
      const policyId = await createPolicy()
      const [header, , signature] = (await issuer.sign(claims())).split('.')
      const other = Buffer.from(JSON.stringify(claims({ jti: 'x' }))).toString('base64url')
      expectRefused(await exchange(policyId, `${header}.${other}.${signature}`))
      await expectReason(policyId, 'signature')
      expectRefused(await exchange(policyId, 'a.b.c'))
      await expectReason(policyId, 'not a JWT')
    })

    test('signed by another key with the same id', async () => {
      const policyId = await createPolicy()
      const forged = await createIssuerKey('first')
      expectRefused(await exchange(policyId, await issuer.sign(claims(), { key: forged })))
      await expectReason(policyId, 'signature')
    })

    test('with an algorithm that the issuer does not use, or a key of another algorithm', async () => {
      const other = await startTokenIssuer()
      allowIssuer(server(), other)
      other.keys = [rsa.publicJwk, other.key.publicJwk]
      const id = await createIssuer({ issuer: other.url, algorithms: ['RS256'] })
      const policyId = await createPolicy({ issuer_id: id })
      const own = claims({ iss: other.url })
      expectRefused(await exchange(policyId, await other.sign(own)))
      await expectReason(policyId, 'algorithm')
      expect((await exchange(policyId, await other.sign(own, { key: rsa }))).status).toBe(200)
      // The id of a key of another type.
      const confused = await other.sign(own, { key: { ...rsa, kid: other.key.kid } })
      expectRefused(await exchange(policyId, confused))
      await expectReason(policyId, 'unknown key')
      await other.stop()
    })

    test('signed by one issuer in the name of another (mixed-up issuer)', async () => {
      const other = await startTokenIssuer()
      allowIssuer(server(), other)
      await createIssuer({ issuer: other.url })
      const policyId = await createPolicy()
      expectRefused(await exchange(policyId, await other.sign(claims())))
      await expectReason(policyId, 'signature')
      expectRefused(await exchange(policyId, await other.sign(claims({ iss: other.url }))))
      await expectReason(policyId, 'issuer')
      expect(other.requests).toEqual([])
      await other.stop()
    })

    test('with a policy that is unknown, disabled, or whose condition is not met', async () => {
      const token = await issuer.sign(claims())
      const unknown = crypto.randomUUID()
      expectRefused(await exchange(unknown, token))
      await expectReason(unknown, 'unknown policy')
      expectRefused(await exchange('x\0y', token))
      const disabled = await createPolicy({ enabled: false })
      expectRefused(await exchange(disabled, token))
      await expectReason(disabled, 'policy disabled')
      const conditional = await createPolicy({ subject: null, condition: `'deploy' in scopes` })
      expectRefused(await exchange(conditional, token))
      await expectReason(conditional, 'condition')
      expect((await exchangeClaims(conditional, { scope: 'read deploy' })).status).toBe(200)
      expect((await exchangeClaims(conditional, { scp: ['deploy'] })).status).toBe(200)
      const both = await createPolicy({ condition: `token_type == 'jwt' && size(scopes) == 0` })
      expect((await exchange(both, token)).status).toBe(200)
      expectRefused(await exchangeClaims(both, { sub: 'other' }))
    })

    test('with a key that is disabled, expired or deleted', async () => {
      const hash = await createKey({ expires_at: new Date(Date.now() + 60_000).toISOString() })
      const policyId = await createPolicy({ key_hash: hash })
      await manage('PATCH', `/keys/${hash}`, { disabled: true })
      expectRefused(await exchangeClaims(policyId))
      await manage('PATCH', `/keys/${hash}`, { disabled: false })
      expect((await exchangeClaims(policyId)).status).toBe(200)
      server().clock.advance(61_000)
      expectRefused(await exchangeClaims(policyId))
      server().clock.release()
      await server().call('DELETE', `/keys/${hash}`)
      expectRefused(await exchangeClaims(policyId))
    })
  })

  describe('the keys of an issuer', () => {
    test('are found by discovery, once, and again for a key that is not known', async () => {
      const policyId = await createPolicy()
      for (const _ of [1, 2, 3]) expect((await exchangeClaims(policyId)).status).toBe(200)
      expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/keys'])
      const next = await createIssuerKey('next')
      issuer.keys = [issuer.key.publicJwk, next.publicJwk]
      const rotated = await issuer.sign(claims(), { key: next })
      expectRefused(await exchange(policyId, rotated))
      expect(issuer.requests).toHaveLength(2)
      server().clock.advance(31_000)
      const replies = await Promise.all(Array.from({ length: 5 }, () => exchange(policyId, rotated)))
      expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
      expect(issuer.requests).toHaveLength(4)
    })

    test('that forged tokens name are not looked for more often than every ten seconds', async () => {
      const policyId = await createPolicy()
      expect((await exchangeClaims(policyId)).status).toBe(200)
      server().clock.advance(31_000)
      for (const kid of ['a', 'b', 'c', 'd']) {
        const forged = { ...issuer.key, kid }
        expectRefused(await exchange(policyId, await issuer.sign(claims(), { key: forged })))
      }
      expect(issuer.requests).toHaveLength(4)
    })

    test('503 while they cannot be loaded, without asking each time; known ones are used meanwhile', async () => {
      const policyId = await createPolicy()
      issuer.status = 500
      for (const _ of [1, 2]) {
        const response = await exchangeClaims(policyId)
        expect([response.status, response.body.error]).toEqual([503, 'temporarily_unavailable'])
        expect(response.headers.get('retry-after')).toBe('10')
      }
      expect(issuer.requests).toHaveLength(1)
      await expectReason(policyId, 'The host replied 500.')
      issuer.status = 200
      server().clock.advance(11_000)
      const token = await issuer.sign(claims({ exp: Math.floor(server().clock.now() / 1000) + 86_400 }))
      expect((await exchange(policyId, token)).status).toBe(200)
      issuer.status = 500
      server().clock.advance(30 * 60_000)
      expect((await exchange(policyId, token)).status).toBe(200)
      server().clock.advance(31 * 60_000)
      expect((await exchange(policyId, token)).status).toBe(503)
    })

    test('503 if the configuration is that of another issuer, or S5 the keys are at a private address', async () => {
      const policyId = await createPolicy()
      issuer.configuration = { issuer: 'https://other.example' }
      expect((await exchangeClaims(policyId)).status).toBe(503)
      await expectReason(policyId, 'another issuer')
      server().clock.advance(11_000)
      issuer.configuration = { jwks_uri: 'http://127.0.0.1:9/keys' }
      expect((await exchangeClaims(policyId)).status).toBe(503)
      await expectReason(policyId, 'must be an https URL')
    })

    test('may be at a jwks_uri; symmetric, private and small keys among them are ignored', async () => {
      const other = await startTokenIssuer()
      allowIssuer(server(), other)
      const id = await createIssuer({ issuer: other.url, jwks_uri: `${other.url}/keys` })
      const policyId = await createPolicy({ issuer_id: id })
      const own = claims({ iss: other.url })
      const secret = { kty: 'oct', k: Buffer.from('secret').toString('base64url'), kid: 'shared' }
      const broken = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA', kid: 'broken' }
      other.keys = [secret, broken, other.key.publicJwk]
      expect((await exchange(policyId, await other.sign(own))).status).toBe(200)
      expect(other.requests).toEqual(['/keys'])
      for (const kid of ['shared', 'broken'])
        expectRefused(await exchange(policyId, await other.sign(own, { key: { ...other.key, kid } })))
      await other.stop()
    })
  })

  describe('rate limits', () => {
    test('failures are limited for an address and policy; a valid token is always exchanged', async () => {
      server().clock.freeze('2027-03-01T12:00:15Z')
      const policyId = await createPolicy()
      const token = await issuer.sign(claims())
      for (let i = 0; i < 25; i++) expect((await exchange(policyId, token)).status).toBe(200)
      for (let i = 0; i < 20; i++) expectRefused(await exchange(policyId, 'garbage'))
      const limited = await exchange(policyId, 'garbage')
      expect([limited.status, limited.body.error]).toEqual([429, 'temporarily_unavailable'])
      expect(limited.headers.get('retry-after')).toBe('45')
      expect((await exchange(policyId, token)).status).toBe(200)
      server().clock.advance(45_000)
      expectRefused(await exchange(policyId, 'garbage'))
    })

    test('failures with many policies are limited for an address', async () => {
      server().clock.freeze('2027-03-01T12:00:15Z')
      for (let i = 0; i < 60; i++) expectRefused(await exchange(crypto.randomUUID(), 'garbage'))
      expect((await exchange(crypto.randomUUID(), 'garbage')).status).toBe(429)
    })

    test('failures are limited for an IPv6 network, and their entries for all addresses', async () => {
      server().clock.freeze('2027-03-01T12:00:15Z')
      const { gateway } = server()
      const { trusted_proxies } = gateway.settings
      Object.assign(gateway.settings, { trusted_proxies: ['127.0.0.1/32'] })
      const from = (address: string) =>
        post(new URLSearchParams(buildExchange(crypto.randomUUID(), 'garbage')), {
          'x-forwarded-for': address,
        })
      for (let i = 0; i < 60; i++) expectRefused(await from(`2001:db8::${i}`))
      expect((await from('2001:db8::ffff')).status).toBe(429)
      for (let i = 0; i < 5; i++) expectRefused(await from(`2001:db8:${i + 1}::1`))
      Object.assign(gateway.settings, { trusted_proxies })
      const entries = await gateway.db
        .selectFrom('audit_entries')
        .select('id')
        .where('created_at', '=', '2027-03-01T12:00:15.000Z')
        .where('ip', 'like', '2001:db8:%')
        .execute()
      expect(entries).toHaveLength(60)
    })
  })

  describe('S1 an access token', () => {
    test.each([
      ['authorization', '/chat/completions'],
      ['x-api-key', '/messages'],
      ['api-key', '/chat/completions'],
      ['x-goog-api-key', '/chat/completions'],
    ])('is accepted in the header %s', async (name, path) => {
      const { token } = await issue()
      const value = name === 'authorization' ? `Bearer ${token}` : token
      expect((await chat({ [name]: value }, path)).status).toBe(200)
    })

    test('may do what an inference key may, and no more', async () => {
      const { token } = await issue()
      const status = async (method: string, path: string) =>
        (await server().call(method, path, { key: token })).status
      expect(await status('GET', '/key')).toBe(200)
      expect(await status('GET', '/models')).toBe(200)
      expect(await status('GET', '/keys')).toBe(403)
      expect(await status('GET', '/workload-identity/policies')).toBe(403)
    })

    test('ends with its key at once, and not with its policy', async () => {
      const hash = await createKey()
      const { token, policyId } = await issue({ key_hash: hash })
      expect(await use(token)).toBe(200)
      await server().call('DELETE', `/workload-identity/policies/${policyId}`)
      expect(await use(token)).toBe(200)
      expectRefused(await exchangeClaims(policyId))
      await manage('PATCH', `/keys/${hash}`, { disabled: true })
      expect(await use(token)).toBe(401)
      await manage('PATCH', `/keys/${hash}`, { disabled: false })
      expect(await use(token)).toBe(200)
      await server().call('DELETE', `/keys/${hash}`)
      expect(await use(token)).toBe(401)
    })

    test('ends when its key expires', async () => {
      const hash = await createKey({ expires_at: new Date(Date.now() + 60_000).toISOString() })
      const { token } = await issue({ key_hash: hash })
      expect(await use(token)).toBe(200)
      server().clock.advance(61_000)
      expect(await use(token)).toBe(401)
    })

    test('is refused when it is forged, changed, or of another type', async () => {
      const { token } = await issue()
      const forged = await createIssuerKey(String(decodeProtectedHeader(token).kid))
      const sign = (header: { alg: string; typ?: string; kid?: string }) =>
        new SignJWT(decodeJwt(token)).setProtectedHeader(header).sign(forged.privateKey)
      const [header, payload, signature] = token.split('.')
      for (const credential of [
        await sign({ alg: 'ES256', typ: 'at+jwt', kid: forged.kid }),
        await sign({ alg: 'ES256', typ: 'at+jwt' }),
        await sign({ alg: 'ES256', typ: 'JWT', kid: forged.kid }),
        `${header}.${payload}.${signature?.slice(0, -4)}AAAA`,
        `${header}.${payload}.`,
        await issuer.sign(claims()),
        `eyJ${'a'.repeat(8000)}`,
      ]) {
        expect(await use(credential)).toBe(401)
      }
    })

    test('is not accepted as a subject token', async () => {
      const { token, policyId } = await issue()
      expectRefused(await exchange(policyId, token))
      const url = String(decodeJwt(token).iss)
      const response = await server().call('POST', '/workload-identity/issuers', {
        body: { name: 'self', issuer: url },
      })
      expect(response.status).toBe(400)
    })

    test('a key that a partner chose may begin like one', async () => {
      const secret = `eyJ${crypto.randomUUID()}.${crypto.randomUUID()}.x`
      const external = { user: 'partner', api_key: secret }
      await manage('POST', '/keys', { name: 'partner', external })
      expect(await use(secret)).toBe(200)
    })
  })
})
