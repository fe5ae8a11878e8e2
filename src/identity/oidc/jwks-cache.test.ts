import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { exportJWK, generateKeyPair } from 'jose'
import { TestClock } from '../../../test/support/clocks.ts'
import { startTokenIssuer, type TokenIssuer } from '../../../test/support/token-issuer.ts'
import { JwksCache, JwksUnavailableError } from './jwks-cache.ts'

describe('JwksCache', () => {
  let issuer: TokenIssuer
  let clock: TestClock
  let cache: JwksCache
  beforeAll(async () => {
    issuer = await startTokenIssuer()
  })
  afterAll(() => issuer.stop())
  beforeEach(() => {
    clock = new TestClock()
    cache = new JwksCache(clock, () => ({ allowPrivate: [issuer.host] }))
    Object.assign(issuer, { status: 200, requests: [], keys: [issuer.key.publicJwk] })
  })

  const sourceOf = (id = 'connection', more = {}) => ({
    id,
    issuer: issuer.url,
    jwks_uri: `${issuer.url}/keys`,
    ...more,
  })
  const header = { alg: 'ES256', kid: 'first' }

  test('public keys of every type are found; symmetric ones and private members are left out', async () => {
    const algorithms = ['RS256', 'PS384', 'ES256', 'ES384', 'ES512', 'EdDSA']
    for (const alg of algorithms) {
      const { privateKey } = await generateKeyPair(alg, { extractable: true })
      issuer.keys.push({ ...(await exportJWK(privateKey)), kid: alg })
    }
    issuer.keys.push({ kty: 'oct', k: 'c2VjcmV0', kid: 'HS256' })
    for (const alg of algorithms) {
      const key = await cache.find(sourceOf(), { alg, kid: alg })
      expect(key).toMatchObject({ type: 'public' })
    }
    await expect(cache.find(sourceOf(), { alg: 'HS256', kid: 'HS256' })).rejects.toThrow()
    expect(issuer.requests).toEqual(['/keys'])
  })

  test('keys that cannot be loaded again are used for ten minutes, or as long as the source says', async () => {
    const lasting = sourceOf('policy', { staleMs: 30 * 60_000 })
    for (const source of [sourceOf(), lasting]) await cache.find(source, header)
    issuer.status = 500
    clock.advance(11 * 60_000)
    await expect(cache.find(sourceOf(), header)).rejects.toThrow(JwksUnavailableError)
    expect(await cache.find(lasting, header)).toBeDefined()
    clock.advance(20 * 60_000)
    await expect(cache.find(lasting, header)).rejects.toThrow('The host replied 500.')
  })

  test('R37 records do not share keys, also if they name the same issuer', async () => {
    await cache.find(sourceOf('one'), header)
    issuer.keys = []
    await expect(cache.find(sourceOf('two'), header)).rejects.toThrow()
    expect(await cache.find(sourceOf('one'), header)).toBeDefined()
  })

  test('a failure is remembered for ten seconds, unless the keys are reloaded', async () => {
    issuer.status = 503
    for (const _ of [1, 2, 3])
      await expect(cache.find(sourceOf(), header)).rejects.toThrow(JwksUnavailableError)
    await expect(cache.reload(sourceOf())).rejects.toThrow('The host replied 503.')
    issuer.status = 200
    await expect(cache.find(sourceOf(), header)).rejects.toThrow(JwksUnavailableError)
    await cache.reload(sourceOf())
    expect(await cache.find(sourceOf(), header)).toBeDefined()
    expect(issuer.requests).toHaveLength(3)
  })

  test('S13 more than a hundred keys, and replies that are too large, are not read', async () => {
    const { publicJwk } = issuer.key
    const others = Array.from({ length: 100 }, (_, i) => ({ ...publicJwk, kid: `other-${i}` }))
    issuer.keys = [...others, publicJwk]
    await expect(cache.find(sourceOf(), header)).rejects.toThrow()
    issuer.keys = [{ ...publicJwk, kid: 'x'.repeat(300_000) }]
    await expect(cache.reload(sourceOf())).rejects.toThrow('too large')
  })

  test('S13 the keys of a thousand issuers are cached, those loaded last', async () => {
    for (let i = 0; i <= 1000; i++) await cache.find(sourceOf(`${i}`), header)
    issuer.requests.length = 0
    await cache.find(sourceOf('1'), header)
    expect(issuer.requests).toHaveLength(0)
    await cache.find(sourceOf('0'), header)
    expect(issuer.requests).toHaveLength(1)
  })
})
