import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startOidcProvider, type TestProvider } from '../../../../test/support/oidc-provider.ts'
import {
  connectProvider,
  findSignedIn,
  resetSso,
  type SsoSetup,
  signIn,
  TestBrowser,
} from '../../../../test/support/sso.ts'

const subject = 'ada'
const event = 'http://schemas.openid.net/event/backchannel-logout'

describeOnEachDatabase('Signing out with single sign-on', (server) => {
  let provider: TestProvider
  let setup: SsoSetup
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
    provider.accounts.set(subject, { email: 'ada@example.com', email_verified: true })
    provider.accounts.set('grace', { email: 'grace@example.com', email_verified: true })
  })
  afterAll(() => provider.stop())
  beforeEach(async () => {
    setup = await connectProvider(server(), provider, { connection: { jit: true } })
  })
  afterEach(() => resetSso(server()))

  let counter = 0
  const logoutClaims = (changes: Record<string, unknown> = {}) => {
    const now = Math.floor(Date.now() / 1000)
    const ids = { iss: provider.issuer, aud: provider.clientId, jti: `jti-${++counter}` }
    return { ...ids, iat: now, exp: now + 120, sub: subject, events: { [event]: {} }, ...changes }
  }
  const send = async (token: string) =>
    fetch(`${server().url}/signin/oidc/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    })
  const sign = (changes: Record<string, unknown> = {}) =>
    provider.sign(logoutClaims(changes), { typ: 'logout+jwt' })
  const signedIn = async (account = subject) => {
    const browser = new TestBrowser()
    expect((await signIn(setup, account, browser)).status).toBe(303)
    return browser
  }
  const sidOf = async (browser: TestBrowser) => {
    const rows = await server().gateway.db.selectFrom('sso_sessions').selectAll().execute()
    const hash = new Bun.CryptoHasher('sha256')
      .update(browser.cookiesOf(server().url).get('headgate_session') ?? '')
      .digest('hex')
    return rows.find((row) => row.token_hash === hash)?.sid
  }

  test('signing out here goes on to the provider, which ends its session too', async () => {
    const browser = await signedIn()
    const response = await fetch(`${server().url}/signout`, {
      method: 'POST',
      headers: { cookie: `headgate_session=${browser.cookiesOf(server().url).get('headgate_session')}` },
      body: new URLSearchParams(),
    })
    const url = new URL(response.headers.get('refresh')?.replace(/^0; url=/, '') ?? '')
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/session/end`)
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${server().url}/signin`)
    expect(url.searchParams.get('id_token_hint')?.split('.')).toHaveLength(3)
    expect((await browser.visit(url.href)).status).toBe(200)
    expect(await findSignedIn(server(), browser)).toBeNull()
  })

  test('signing out at the provider ends the session here', async () => {
    const [browser, other] = [await signedIn(), await signedIn()]
    const page = await browser.visit(`${provider.issuer}/session/end`)
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(page.html)?.[1] ?? ''
    const confirmed = await browser.visit(`${provider.issuer}/session/end/confirm`, { xsrf, logout: 'yes' })
    expect(confirmed.status).toBe(303)
    expect(await findSignedIn(server(), browser)).toBeNull()
    expect(await findSignedIn(server(), other)).toBe('ada@example.com')
  })

  test('a logout token ends all sessions of its subject, and no others', async () => {
    const [first, second, other] = [await signedIn(), await signedIn(), await signedIn('grace')]
    const response = await send(await sign())
    expect(response.status).toBe(200)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(await findSignedIn(server(), first)).toBeNull()
    expect(await findSignedIn(server(), second)).toBeNull()
    expect(await findSignedIn(server(), other)).toBe('grace@example.com')
  })

  test('a logout token with a sid ends that session only', async () => {
    const [first, second] = [await signedIn(), await signedIn()]
    const sid = await sidOf(first)
    expect(sid).toBeString()
    expect((await send(await sign({ sid, sub: undefined }))).status).toBe(200)
    expect(await findSignedIn(server(), first)).toBeNull()
    expect(await findSignedIn(server(), second)).toBe('ada@example.com')
  })

  test('S1 a logout token is accepted once', async () => {
    const token = await sign()
    expect((await send(token)).status).toBe(200)
    const browser = await signedIn()
    const replay = await send(token)
    expect(replay.status).toBe(400)
    expect(await replay.json()).toMatchObject({ error: 'invalid_request' })
    expect(await findSignedIn(server(), browser)).toBe('ada@example.com')
  })

  test.each<[string, Record<string, unknown>]>([
    ['another audience', { aud: 'somebody-else' }],
    ['another issuer', { iss: 'https://evil.test' }],
    ['a nonce, as ID tokens have', { nonce: 'x' }],
    ['no event', { events: undefined }],
    ['another event', { events: { other: {} } }],
    ['no jti', { jti: undefined }],
    ['neither sub nor sid', { sub: undefined }],
    ['an expiry in the past', { exp: 1 }],
    ['an old age', { iat: 1 }],
  ])('S1 a logout token with %s is refused', async (_, changes) => {
    const browser = await signedIn()
    expect((await send(await sign(changes))).status).toBe(400)
    expect(await findSignedIn(server(), browser)).toBe('ada@example.com')
  })

  test('S1 a logout token that somebody else signed, and no token, are refused', async () => {
    const browser = await signedIn()
    const stranger = await startOidcProvider(server().url)
    const forged = await stranger.sign(logoutClaims(), { typ: 'logout+jwt' })
    await stranger.stop()
    for (const token of [forged, 'x', '']) expect((await send(token)).status).toBe(400)
    expect(await findSignedIn(server(), browser)).toBe('ada@example.com')
  })

  test('removing the connection ends its sessions', async () => {
    const browser = await signedIn()
    await server().call('DELETE', `/organization/sso/connections/${setup.connectionId}`)
    expect(await findSignedIn(server(), browser)).toBeNull()
  })
})
