import { afterEach, describe, expect, test } from 'bun:test'
import { describeOnEachDatabase, type TestServer } from '../../../../test/support/harness.ts'
import { createMember } from '../../../identity/members.ts'
import { createSignInToken } from '../../../identity/sessions.ts'
import { sha256 } from '../../../platform/crypto/crypto.ts'
import { newToken } from '../../../platform/crypto/ids.ts'

const verifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const callback = 'https://app.example.com/done?flag&state=a%20b'
const minute = 60_000

describeOnEachDatabase('Sign-in pages', (server) => {
  afterEach(() => server().clock.release())

  test('a link shows a button first, so that link previews do not use it up', async () => {
    const token = await newLink(server())
    for (let i = 0; i < 3; i++) {
      const { status, html, cookies } = await visit(server(), `/signin?token=${token}`)
      expect(status).toBe(200)
      expect(cookies).toEqual([])
      expect(html).toContain('owner@localhost')
      expect(inputOf(html, 'token')).toBe(token)
    }
    const { status, location, cookies } = await visit(server(), '/signin', { form: { token } })
    expect([status, location]).toEqual([303, '/'])
    const [session] = cookies
    expect(session).toMatch(/^headgate_session=[\w-]{43}; /)
    for (const part of ['HttpOnly', 'SameSite=Lax', 'Path=/', 'Max-Age=604800'])
      expect(session).toContain(part)
    expect(session).not.toContain('Secure')
  })

  test('a token signs in once, also with ten concurrent requests', async () => {
    const token = await newLink(server())
    const tries = Array.from({ length: 10 }, () => visit(server(), '/signin', { form: { token } }))
    const statuses = (await Promise.all(tries)).map((result) => result.status)
    expect(statuses.sort()).toEqual([303, ...Array(9).fill(401)])
  })

  test('a used, expired, unknown or missing token is a 401 page with a remedy', async () => {
    const [used, expired] = [await newLink(server()), await newLink(server())]
    await visit(server(), '/signin', { form: { token: used } })
    server().clock.advance(61 * minute)
    for (const token of [used, expired, 'unknown', '']) {
      for (const result of [
        await visit(server(), `/signin?token=${token}`),
        await visit(server(), '/signin', { form: { token } }),
      ]) {
        expect(result.status).toBe(401)
        expect(result.html).toContain('headgate signin')
        expect(result.cookies).toEqual([])
      }
    }
    expect((await visit(server(), '/signin')).status).toBe(401)
  })

  test('the cookie is Secure over https', async () => {
    const headers = { 'x-forwarded-proto': 'https' }
    const { cookies } = await visit(server(), '/signin', {
      form: { token: await newLink(server()) },
      headers,
    })
    for (const cookie of cookies) expect(cookie).toContain('Secure')
  })

  test('signing out ends the session on the server too', async () => {
    const cookie = await signedIn(server())
    expect((await visit(server(), '/signin', { cookie })).html).toContain('owner@localhost')
    const { status, cookies } = await visit(server(), '/signout', { cookie, form: {} })
    expect(status).toBe(200)
    expect(cookies[0]).toMatch(/^headgate_session=; .*Max-Age=0/)
    expect((await visit(server(), '/signin', { cookie })).status).toBe(401)
  })

  test('a session ends after seven days', async () => {
    const cookie = await signedIn(server())
    server().clock.advance(7 * 24 * 60 * minute)
    expect((await visit(server(), '/signin', { cookie })).status).toBe(401)
  })

  test('expired links and sessions are deleted when new ones are created', async () => {
    await signedIn(server())
    server().clock.advance(8 * 24 * 60 * minute)
    await signedIn(server())
    const { db } = server().gateway
    expect(await db.selectFrom('signin_links').selectAll().execute()).toHaveLength(1)
    expect(await db.selectFrom('sessions').selectAll().execute()).toHaveLength(1)
  })

  test.each<[string, Record<string, string>]>([
    ['another origin', { origin: 'https://evil.example' }],
    ['a hidden origin', { origin: 'null' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a neighboring site', { 'sec-fetch-site': 'same-site' }],
  ])('a form sent from %s is 403 and uses up nothing', async (_, headers) => {
    const token = await newLink(server())
    expect((await visit(server(), '/signin', { form: { token }, headers })).status).toBe(403)
    const cookie = await signedIn(server())
    expect((await visit(server(), '/signout', { cookie, form: {}, headers })).status).toBe(403)
    expect((await visit(server(), '/signin', { cookie })).status).toBe(200)
    expect((await visit(server(), '/signin', { form: { token } })).status).toBe(303)
  })

  test('a form from this site passes', async () => {
    for (const headers of [{ origin: server().url }, { 'sec-fetch-site': 'same-origin', origin: 'null' }]) {
      const { status } = await visit(server(), '/signin', {
        form: { token: await newLink(server()) },
        headers,
      })
      expect(status).toBe(303)
    }
  })

  test('bodies are bounded and must be forms', async () => {
    expect((await visit(server(), '/signin', { form: { token: 'x'.repeat(17_000) } })).status).toBe(413)
    const body = JSON.stringify({ token: await newLink(server()) })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${server().url}/signin`, { method: 'POST', body, headers })).status).toBe(400)
  })
})

describeOnEachDatabase('Consent page', (server) => {
  const open = async (query: Record<string, string>, cookie?: string) =>
    visit(server(), authPath(query), { cookie: cookie ?? (await signedIn(server())) })
  const send = (form: Record<string, string>, cookie: string, headers = {}) =>
    visit(server(), '/auth', { cookie, form, headers })
  const exchange = (body: Record<string, unknown>) => server().call('POST', '/auth/keys', { body, key: null })
  const codes = () => server().gateway.db.selectFrom('auth_codes').selectAll().execute()

  test('without a session: 401, and back here after signing in', async () => {
    const path = authPath({ callback_url: callback, key_label: 'Ü & co' })
    const request = await visit(server(), path)
    expect(request.status).toBe(401)
    expect(request.html).toContain('npm run headgate -- signin')
    expect(request.cookies[0]).toMatch(
      /^headgate_return=.*Path=\/signin; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
    const form = { token: await newLink(server()) }
    const back = await visit(server(), '/signin', { form, cookie: sentBack(request.cookies) })
    expect([back.status, back.location]).toEqual([303, path])
    expect(back.cookies[1]).toMatch(/^headgate_return=; .*Max-Age=0/)
    expect((await visit(server(), path, { cookie: sentBack(back.cookies) })).status).toBe(200)
  })

  test.each([
    'https://evil.example/auth?',
    '//evil.example/auth?',
    '/\\evil.example',
    '/auth/..//evil.example',
    'javascript:alert(1)',
    '/auth?a\r\nset-cookie: b=c',
  ])('sign-in returns only to pages of this server, not to %j', async (path) => {
    const cookie = `headgate_return=${encodeURIComponent(path)}`
    const { location } = await visit(server(), '/signin', {
      form: { token: await newLink(server()) },
      cookie,
    })
    expect(location).toBe('/')
  })

  test('sign-in returns to the screen of the console that asked for it', async () => {
    const asked = await visit(server(), '/signin?return_to=%2Frequests%3Fmodel%3Da')
    const form = { token: await newLink(server()) }
    const back = await visit(server(), '/signin', { form, cookie: sentBack(asked.cookies) })
    expect([back.status, back.location]).toEqual([303, '/requests?model=a'])
  })

  test('shows the member, the app and the requested key; the form may redirect only to the app', async () => {
    const { status, html, policy, headers } = await open({ callback_url: callback, key_label: 'My phone' })
    expect(status).toBe(200)
    for (const text of ['owner@localhost', 'My phone', 'Default']) expect(html).toContain(text)
    expect(html).toContain('<code>https://app.example.com</code>')
    expect(policy).toContain("form-action 'self' https://app.example.com;")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(html).not.toContain('<script')
    // Under `no-referrer` a browser would send `Origin: null` with the form of this page.
    expect(headers.get('referrer-policy')).toBe('same-origin')
  })

  test('approve: redirects to the app with a code and its query; the code returns the key that was shown', async () => {
    const cookie = await signedIn(server())
    const query = { callback_url: callback, code_challenge: challenge, code_challenge_method: 'S256' }
    const { html } = await open({ ...query, key_label: 'My phone' }, cookie)
    const choices = { decision: 'approve', limit: ' 2.50 ', usage_limit_type: 'monthly' }
    const headers = { origin: server().url, 'sec-fetch-site': 'same-origin' }
    const result = await send({ ...formOf(html), ...choices }, cookie, headers)
    expect(result.status).toBe(303)
    const [start, code = ''] = result.location!.split('&code=')
    expect(start).toBe(callback)
    expect(result.headers.get('referrer-policy')).toBe('no-referrer')
    const { body } = await exchange({ code, code_verifier: verifier })
    expect(body.user_id).toBe(server().own.owner.id)
    const key = await server().call('GET', `/keys/${sha256(body.key)}`)
    expect(key.body.data).toMatchObject({
      name: 'My phone',
      limit: 2.5,
      limit_reset: 'monthly',
      workspace_id: server().own.workspace.id,
      creator_user_id: server().own.owner.id,
    })
  })

  test('approve without choices: no limit, the name of the app', async () => {
    const cookie = await signedIn(server())
    const { html } = await open({ callback_url: 'http://localhost:3000' }, cookie)
    const { location } = await send({ ...formOf(html), decision: 'approve' }, cookie)
    expect(location).toStartWith('http://localhost:3000/?code=')
    const { body } = await exchange({ code: new URL(location!).searchParams.get('code') })
    const key = await server().call('GET', `/keys/${sha256(body.key)}`)
    expect(key.body.data).toMatchObject({ name: 'localhost:3000', limit: null, limit_reset: null })
  })

  test.each([
    ['', '', 10, undefined],
    ['3', '', 3, undefined],
    ['10.01', '', null, 'limit: must be at most 10 for your role'],
    ['3', 'daily', null, 'usage_limit_type: is not allowed'],
    ['', 'monthly', null, 'usage_limit_type: is not allowed'],
  ])(
    'a member who requests a limit of "%s" reset "%s" gets %p: keys that spend more are for admins',
    async (limit, reset, given, problem) => {
      const { gateway, own } = server()
      const member = await gateway.db.transaction().execute((tx) =>
        createMember(tx, gateway.clock, {
          organizationId: own.organization.id,
          email: `${newToken()}@example.com`,
          role: 'org:member',
        }),
      )
      const cookie = await signedIn(server(), member.id)
      const { html } = await open({ callback_url: 'http://localhost:3000' }, cookie)
      expect(html).toContain('at most 10, for the lifetime of the key')
      expect(html).not.toContain('usage_limit_type')
      const form = { ...formOf(html), decision: 'approve', limit, usage_limit_type: reset }
      const result = await send(form, cookie)
      if (problem)
        return expect([result.status, result.html]).toEqual([400, expect.stringContaining(problem)])
      const { body } = await exchange({ code: new URL(result.location!).searchParams.get('code') })
      const key = await server().call('GET', `/keys/${sha256(body.key)}`)
      expect(key.body.data).toMatchObject({ limit: given, limit_reset: null })
    },
  )

  test.each(['approve', 'deny'])(
    'S6 %s for an app on another port of this host ends the session: browsers would send its cookie along',
    async (decision) => {
      const cookie = await signedIn(server())
      const { html } = await open({ callback_url: 'http://127.0.0.1:3999/cb' }, cookie)
      const result = await send({ ...formOf(html), decision }, cookie)
      expect(result.location).toStartWith('http://127.0.0.1:3999/cb?')
      expect(result.headers.get('set-cookie')).toContain('headgate_session=;')
      expect((await open({ callback_url: callback }, cookie)).status).toBe(401)
    },
  )

  test('deny: redirects to the app with access_denied and creates no code', async () => {
    const cookie = await signedIn(server())
    const { html } = await open({ callback_url: `${callback}&code=old&error=old` }, cookie)
    const before = (await codes()).length
    const { status, location } = await send({ ...formOf(html), decision: 'deny' }, cookie)
    expect(status).toBe(303)
    const url = new URL(location!)
    expect(url.searchParams.getAll('error')).toEqual(['access_denied'])
    expect(url.searchParams.has('code')).toBe(false)
    expect(url.searchParams.get('state')).toBe('a b')
    expect(await codes()).toHaveLength(before)
  })

  describe('without a callback', () => {
    const query = { code_challenge: challenge, code_challenge_method: 'S256' }

    test('the code is shown on the page, and works with its verifier', async () => {
      const cookie = await signedIn(server())
      const { html, policy } = await open(query, cookie)
      expect(policy).toContain("form-action 'self';")
      const result = await send({ ...formOf(html), decision: 'approve' }, cookie)
      expect(result.status).toBe(200)
      const code = /<pre>([\w-]{43})<\/pre>/.exec(result.html)?.[1]
      expect((await exchange({ code })).status).toBe(403)
      expect((await exchange({ code, code_verifier: verifier })).status).toBe(200)
    })

    test('deny shows a page', async () => {
      const cookie = await signedIn(server())
      const { html } = await open(query, cookie)
      const result = await send({ ...formOf(html), decision: 'deny' }, cookie)
      expect([result.status, result.location]).toEqual([200, null])
    })

    test('the challenge is mandatory', async () => {
      const cookie = await signedIn(server())
      const { status, html } = await open({}, cookie)
      expect(status).toBe(400)
      expect(html).toContain('code_challenge')
      const csrf = formOf((await open(query, cookie)).html).csrf!
      expect((await send({ csrf, decision: 'approve' }, cookie)).status).toBe(400)
    })
  })

  test.each<[string, Record<string, string>, string]>([
    ['http elsewhere', { callback_url: 'http://app.example.com' }, 'callback_url'],
    ['script', { callback_url: 'javascript:alert(1)' }, 'callback_url'],
    ['a user before the host', { callback_url: 'https://app.example.com@evil.example' }, 'callback_url'],
    ['a path of ours', { callback_url: '/docs' }, 'callback_url'],
    ['empty', { callback_url: '' }, 'callback_url'],
    ['a method alone', { callback_url: callback, code_challenge_method: 'S256' }, 'code_challenge'],
    ['a long label', { callback_url: callback, key_label: 'x'.repeat(101) }, 'key_label'],
    ['a label with a NUL', { callback_url: callback, key_label: 'x\0' }, 'key_label'],
  ])('bad parameters are a 400 page naming the field, never a redirect: %s', async (_, query, field) => {
    const cookie = await signedIn(server())
    const shown = await open(query, cookie)
    const { csrf = '' } = formOf((await open({ callback_url: callback }, cookie)).html)
    const approved = await send({ ...query, csrf, decision: 'approve' }, cookie)
    const responses = [shown, approved]
    if (field === 'callback_url') responses.push(await send({ ...query, csrf, decision: 'deny' }, cookie))
    for (const result of responses) {
      expect([result.status, result.location]).toEqual([400, null])
      expect(result.html).toContain(`${field}:`)
    }
  })

  test('a duplicate parameter is rejected', async () => {
    const path = `${authPath({ callback_url: callback })}&callback_url=https://evil.example`
    const { status, html } = await visit(server(), path, { cookie: await signedIn(server()) })
    expect(status).toBe(400)
    expect(html).toContain('callback_url: is sent more than once')
  })

  test.each([
    ['limit', 'much'],
    ['limit', '-1'],
    ['limit', '1e3'],
    ['limit', '5,00'],
    ['limit', '9999999999'],
    ['usage_limit_type', 'yearly'],
    ['decision', 'perhaps'],
  ])('a wrong choice is a 400 page naming it: %s %s', async (name, value) => {
    const cookie = await signedIn(server())
    const { html } = await open({ callback_url: callback }, cookie)
    const result = await send({ ...formOf(html), decision: 'approve', [name]: value }, cookie)
    expect(result.status).toBe(400)
    expect(result.html).toContain(`${name}:`)
  })

  test('the CSRF token must be that of this session: 403, and no code', async () => {
    const [cookie, other] = [await signedIn(server()), await signedIn(server())]
    const form = formOf((await open({ callback_url: callback }, cookie)).html)
    const { csrf: _, ...without } = form
    const foreign = formOf((await open({ callback_url: callback }, other)).html).csrf!
    const before = (await codes()).length
    for (const tried of [without, { ...form, csrf: 'wrong' }, { ...form, csrf: foreign }]) {
      for (const decision of ['approve', 'deny']) {
        const result = await send({ ...tried, decision }, cookie)
        expect([result.status, result.location]).toEqual([403, null])
      }
    }
    const elsewhere = { origin: 'https://evil.example' }
    expect((await send({ ...form, decision: 'approve' }, cookie, elsewhere)).status).toBe(403)
    expect((await send({ ...form, decision: 'approve' }, '')).status).toBe(401)
    expect(await codes()).toHaveLength(before)
  })

  test('echoed values are escaped', async () => {
    const attack = `"><script>alert(1)</script>'&`
    const shown = await open({ callback_url: `https://app.example.com/${attack}`, key_label: attack })
    expect(shown.status).toBe(200)
    const rejected = await open({
      callback_url: callback,
      code_challenge: attack,
      key_label: attack.repeat(9),
    })
    const dead = await visit(server(), `/signin?token=${encodeURIComponent(attack)}`)
    const named = await visit(server(), `/auth?${encodeURIComponent(attack)}&${encodeURIComponent(attack)}`, {
      cookie: await signedIn(server()),
    })
    for (const { html } of [shown, rejected, dead, named]) expect(html).not.toContain('<script>')
    expect(unescapeHtml(inputOf(shown.html, 'key_label')!)).toBe(attack)
    expect(named.html).toContain('&#60;script&#62;')
  })

  test('the host is shown as it is spelled on the wire', async () => {
    const { html } = await open({ callback_url: 'https://аpple.com/' })
    expect(html).toContain('https://xn--pple-43d.com')
  })

  test('a member of another organization creates codes of that organization', async () => {
    const token = await newLink(server(), server().foreign.owner.id)
    const cookie = sentBack((await visit(server(), '/signin', { form: { token } })).cookies)
    const { html } = await open({ callback_url: callback }, cookie)
    const { location } = await send({ ...formOf(html), decision: 'approve' }, cookie)
    const { body } = await exchange({ code: new URL(location!).searchParams.get('code') })
    const path = `/keys/${sha256(body.key)}`
    expect((await server().call('GET', path)).status).toBe(404)
    expect((await server().call('GET', path, { key: server().foreign.managementKey })).status).toBe(200)
  })
})

describeOnEachDatabase(
  'Consent page with require_s256 and a public https address',
  (server) => {
    test('plain and no challenge are 400; cookies are Secure; the public origin may send forms', async () => {
      const headers = { origin: 'https://gate.example.com' }
      const form = { token: await newLink(server()) }
      const { cookies, status } = await visit(server(), '/signin', { form, headers })
      expect(status).toBe(303)
      for (const cookie of cookies) expect(cookie).toContain('Secure')
      const cookie = sentBack(cookies)
      for (const query of [
        { callback_url: callback },
        { callback_url: callback, code_challenge: verifier },
      ]) {
        expect((await visit(server(), authPath(query), { cookie })).status).toBe(400)
      }
      const s256 = { callback_url: callback, code_challenge: challenge, code_challenge_method: 'S256' }
      expect((await visit(server(), authPath(s256), { cookie })).status).toBe(200)
    })
  },
  { settings: 'public_url: https://gate.example.com\noauth:\n  require_s256: true\n' },
)

/** A minimal browser: follows no redirects and stores no cookies. */
interface Sent {
  cookie?: string
  form?: Record<string, string>
  headers?: Record<string, string>
}

async function visit(server: TestServer, path: string, { cookie, form, headers }: Sent = {}) {
  const response = await fetch(server.url + path, {
    method: form ? 'POST' : 'GET',
    redirect: 'manual',
    headers: { ...(cookie && { cookie }), ...headers },
    ...(form && { body: new URLSearchParams(form) }),
  })
  return {
    status: response.status,
    html: await response.text(),
    location: response.headers.get('location'),
    policy: response.headers.get('content-security-policy') ?? '',
    cookies: response.headers.getSetCookie(),
    headers: response.headers,
  }
}

function newLink(server: TestServer, userId = server.own.owner.id): Promise<string> {
  return createSignInToken(server.gateway.db, server.gateway.clock, userId)
}

/** The cookies that a browser would send back. */
function sentBack(cookies: string[]): string {
  return cookies.map((cookie) => cookie.split(';')[0]).join('; ')
}

async function signedIn(server: TestServer, userId?: string): Promise<string> {
  const { cookies } = await visit(server, '/signin', { form: { token: await newLink(server, userId) } })
  return sentBack(cookies.filter((cookie) => cookie.startsWith('headgate_session=')))
}

function inputOf(html: string, name: string): string | undefined {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(html)?.[1]
}

function unescapeHtml(text: string): string {
  return text.replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

/** The fields of the consent form, as a browser would send them. */
function formOf(html: string): Record<string, string> {
  const names = ['csrf', 'callback_url', 'code_challenge', 'code_challenge_method', 'key_label']
  const found = names.flatMap((name) => {
    const value = inputOf(html, name)
    return value === undefined ? [] : [[name, unescapeHtml(value)] as const]
  })
  return { ...Object.fromEntries(found), limit: '', usage_limit_type: '' }
}

function authPath(query: Record<string, string>): string {
  return `/auth?${new URLSearchParams(query)}`
}
