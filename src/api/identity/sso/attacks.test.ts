import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { SignJWT } from 'jose'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startOidcProvider, type TestProvider } from '../../../../test/support/oidc-provider.ts'
import {
  approve,
  connectProvider,
  findSignedIn,
  resetSso,
  type SsoSetup,
  signIn,
  TestBrowser,
} from '../../../../test/support/sso.ts'
import { claimToken } from '../../../identity/sso-sessions.ts'

const subject = 'ada'

describeOnEachDatabase('Attacks on single sign-on', (server) => {
  let provider: TestProvider
  let other: TestProvider
  let setup: SsoSetup
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
    other = await startOidcProvider(server().url)
    for (const each of [provider, other])
      each.accounts.set(subject, { email: 'ada@example.com', email_verified: true })
  })
  afterAll(() => Promise.all([provider.stop(), other.stop()]))
  beforeEach(async () => {
    setup = await connectProvider(server(), provider, { connection: { jit: true } })
  })
  afterEach(async () => {
    provider.tamper = null
    server().clock.release()
    await resetSso(server())
  })

  const expectRefused = async (browser: TestBrowser, url: string) => {
    const visit = await browser.visit(url)
    expect([400, 403]).toContain(visit.status)
    expect(await findSignedIn(server(), browser)).toBeNull()
    return visit
  }
  const changeQuery = (url: string, changes: Record<string, string | null>) => {
    const changed = new URL(url)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) changed.searchParams.delete(name)
      else changed.searchParams.set(name, value)
    }
    return changed.href
  }

  test('S1 a callback in another browser, or without a beginning, is refused', async () => {
    const { url } = await approve(setup, new TestBrowser(), subject)
    await expectRefused(new TestBrowser(), url)
  })

  test('S1 a code injected into the sign-in of another browser is refused', async () => {
    const attacker = await approve(setup, new TestBrowser(), subject)
    const victim = new TestBrowser()
    const own = await approve(setup, victim, subject)
    // The whole callback of the attacker, and only the code.
    const code = new URL(attacker.url).searchParams.get('code')
    await expectRefused(victim, changeQuery(own.url, { code }))
    const again = new TestBrowser()
    await approve(setup, again, subject)
    await expectRefused(again, attacker.url)
  })

  test('S1 a callback works once, also with its cookie', async () => {
    const browser = new TestBrowser()
    const { url } = await approve(setup, browser, subject)
    const cookie = browser.cookiesOf(server().url).get('headgate_oidc') ?? ''
    expect((await browser.visit(url)).status).toBe(303)
    const replay = new TestBrowser()
    replay.cookiesOf(server().url).set('headgate_oidc', cookie)
    await expectRefused(replay, url)
  })

  test('S1 a state is accepted once, on all nodes', async () => {
    const { db } = server().gateway
    const claim = () => claimToken(db, server().clock, 'state:once', server().clock.now() + 60_000)
    const results = await Promise.all(Array.from({ length: 5 }, claim))
    expect(results.filter(Boolean)).toHaveLength(1)
    const browser = new TestBrowser()
    const { url } = await approve(setup, browser, subject)
    const state = new URL(url).searchParams.get('state')
    await claimToken(db, server().clock, `state:${state}`, server().clock.now() + 60_000)
    await expectRefused(browser, url)
  })

  test.each<[string, Record<string, string | null>]>([
    ['another state', { state: 'forged' }],
    ['no state', { state: null }],
    ['no code', { code: null }],
    ['another issuer (RFC 9207)', { iss: 'https://evil.test' }],
    ['no issuer, though the provider sends one', { iss: null }],
    ['an error of the provider', { code: null, error: 'access_denied' }],
  ])('S1 a callback with %s is refused', async (_, changes) => {
    const browser = new TestBrowser()
    const { url } = await approve(setup, browser, subject)
    await expectRefused(browser, changeQuery(url, changes))
  })

  test('S1 a mixed-up provider gets no code: its callback is refused before the token endpoint', async () => {
    const browser = new TestBrowser()
    const honest = await approve(setup, browser, subject)
    other.requests.length = 0
    const evil = await connectProvider(server(), other, { domain: null })
    Object.assign(server().gateway.settings.egress, {
      allow_private: [new URL(provider.issuer).host, new URL(other.issuer).host],
    })
    const begun = await browser.visit(`${server().url}/signin/oidc/${evil.connectionId}`)
    const state = new URL(begun.location ?? '').searchParams.get('state')
    const { html } = await expectRefused(browser, changeQuery(honest.url, { state }))
    expect(html).toContain('iss')
    expect(other.requests).not.toContain('POST /token')
  })

  test('S1 a sign-in expires after ten minutes', async () => {
    const browser = new TestBrowser()
    const { url } = await approve(setup, browser, subject)
    server().clock.advance(10 * 60_000)
    await expectRefused(browser, url)
  })

  const now = () => Math.floor(Date.now() / 1000)
  const unsigned = (claims: object) => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    return `${encode({ alg: 'none' })}.${encode(claims)}.`
  }

  test('an ID token that is signed again without a change is accepted', async () => {
    provider.tamper = (claims) => ({ claims })
    expect((await signIn(setup, subject)).status).toBe(303)
  })

  test.each<[string, TestProvider['tamper']]>([
    ['another audience', (claims) => ({ claims: { ...claims, aud: 'somebody-else' } })],
    ['another issuer', (claims) => ({ claims: { ...claims, iss: 'https://evil.test' } })],
    ['another nonce', (claims) => ({ claims: { ...claims, nonce: 'other' } })],
    ['no nonce', (claims) => ({ claims: { ...claims, nonce: undefined } })],
    ['an expiry in the past', (claims) => ({ claims: { ...claims, exp: now() - 3600 } })],
    ['no subject', (claims) => ({ claims: { ...claims, sub: undefined } })],
    ['no signature', (claims) => ({ claims, token: unsigned(claims) })],
  ])('S1 an ID token with %s is refused', async (_, tamper) => {
    provider.tamper = tamper
    const browser = new TestBrowser()
    const { url } = await approve(setup, browser, subject)
    await expectRefused(browser, url)
  })

  test('S1 an ID token signed with the key of another provider, or with the client secret, is refused', async () => {
    for (const sign of [
      (claims: Record<string, unknown>) => other.sign(claims),
      (claims: Record<string, unknown>) =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256' })
          .sign(new TextEncoder().encode(provider.clientSecret)),
    ]) {
      const browser = new TestBrowser()
      const { url } = await approve(setup, browser, subject)
      provider.tamper = (claims) => ({ claims, token: sign(claims) })
      await expectRefused(browser, url)
      provider.tamper = null
    }
  })

  test('keys that the provider rotates are fetched again, at most every ten seconds', async () => {
    expect((await signIn(setup, subject)).status).toBe(303)
    await provider.rotateKeys()
    provider.requests.length = 0
    server().clock.advance(11_000)
    expect((await signIn(setup, subject)).status).toBe(303)
    const fetches = () => provider.requests.filter((request) => request === 'GET /jwks').length
    expect(fetches()).toBe(1)
    // A key that nobody knows: no further request.
    for (let i = 0; i < 3; i++) {
      provider.tamper = (claims) => ({ claims, token: other.sign(claims) })
      const browser = new TestBrowser()
      const { url } = await approve(setup, browser, subject)
      await expectRefused(browser, url)
    }
    expect(fetches()).toBe(1)
  })

  test('concurrent tokens with a key that nobody knows cause one request', async () => {
    expect((await signIn(setup, subject)).status).toBe(303)
    server().clock.advance(11_000)
    provider.requests.length = 0
    provider.tamper = (claims) => ({ claims, token: other.sign(claims) })
    const logins = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const browser = new TestBrowser()
        return { browser, url: (await approve(setup, browser, subject)).url }
      }),
    )
    await Promise.all(logins.map(({ browser, url }) => expectRefused(browser, url)))
    expect(provider.requests.filter((request) => request === 'GET /jwks')).toHaveLength(1)
  })

  test('S5 a provider at a private address that the operator does not allow is not asked', async () => {
    provider.requests.length = 0
    server().clock.advance(11 * 60_000)
    Object.assign(server().gateway.settings.egress, { allow_private: [] })
    const visit = await new TestBrowser().visit(`${server().url}/signin/oidc/${setup.connectionId}`)
    expect(visit.status).toBe(503)
    expect(provider.requests).toEqual([])
    const body = { issuer: other.issuer, client_secret: 'x' }
    const { status } = await server().call('PATCH', `/organization/sso/connections/${setup.connectionId}`, {
      body,
    })
    expect(status).toBe(400)
  })

  test('R40 the client secret is in no response and no row', async () => {
    await signIn(setup, subject)
    const { body } = await server().call('GET', '/organization/sso/connections')
    expect(JSON.stringify(body)).not.toContain(provider.clientSecret)
    const { db } = server().gateway
    for (const table of ['sso_connections', 'audit_entries', 'sso_sessions'] as const)
      expect(JSON.stringify(await db.selectFrom(table).selectAll().execute())).not.toContain(
        provider.clientSecret,
      )
  })
})
