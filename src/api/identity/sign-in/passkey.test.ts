import { afterEach, expect, test } from 'bun:test'
import { Authenticator } from '../../../../test/support/authenticator.ts'
import { Browser } from '../../../../test/support/browser.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { createSessionHeaders } from '../../../../test/support/sessions.ts'
import { createMember, type Member } from '../../../identity/members.ts'
import { newId } from '../../../platform/crypto/ids.ts'

const minute = 60_000
const origin = 'https://gate.example.com'

describeOnEachDatabase(
  'Sign-in with a passkey',
  (server) => {
    afterEach(() => server().clock.release())
    let client = 0
    /** Each has an address of its own. */
    const newBrowser = () => new Browser(server(), { 'x-forwarded-for': `192.0.2.${++client % 250}` })
    const headersOf = async (member: Member) => {
      const { cookie, ...rest } = await createSessionHeaders(server(), member)
      return { ...rest, cookie: `__Host-${cookie}` }
    }
    const newMember = () => {
      const { gateway, own } = server()
      const email = `${newId('m')}@example.com`
      const input = { organizationId: own.organization.id, email, role: 'org:member' } as const
      return createMember(gateway.db, gateway.clock, input)
    }
    const createOptions = async (headers: Record<string, string>) =>
      (await server().call('POST', '/account/passkeys/options', { key: null, headers })).body.data
    const register = async (member: Member, faults = {}) => {
      const headers = await headersOf(member)
      const authenticator = new Authenticator(origin)
      const credential = authenticator.create(await createOptions(headers), faults)
      const body = { name: 'Laptop', credential }
      const result = await server().call('POST', '/account/passkeys', { key: null, headers, body })
      return { authenticator, headers, sent: body, status: result.status, reply: result.body }
    }
    const requestOptions = async (browser: Browser) =>
      JSON.parse((await browser.post('/signin/passkey/options', {})).text)
    const signIn = async (authenticator: Authenticator, faults = {}) => {
      const browser = newBrowser()
      const assertion = authenticator.get(await requestOptions(browser), faults)
      const { status, text } = await browser.post('/signin/passkey', assertion)
      return { browser, assertion, status, text }
    }

    test('the options name the site of public_url and require the verification of the person', async () => {
      const options = await requestOptions(newBrowser())
      expect(options).toMatchObject({ rpId: 'gate.example.com', userVerification: 'required' })
      const created = await createOptions(await headersOf(await newMember()))
      expect(created.rp.id).toBe('gate.example.com')
      expect(created.authenticatorSelection).toMatchObject({
        residentKey: 'required',
        userVerification: 'required',
      })
    })

    test('without an address or a password, again and again', async () => {
      const member = await newMember()
      const { authenticator } = await register(member)
      for (let i = 0; i < 3; i++) {
        const { browser, status, text } = await signIn(authenticator)
        expect([status, text]).toEqual([200, '{"location":"/"}'])
        const cookie = `__Host-headgate_session=${browser.cookies.get('__Host-headgate_session')}`
        const session = await server().call('GET', '/session', { key: null, headers: { cookie } })
        expect(session.body.data).toMatchObject({ member: { id: member.id }, method: 'passkey' })
      }
    })

    test.each([
      ['of another origin', { origin: 'https://evil.example' }],
      ['of another site', { rpId: 'evil.example' }],
      ['without verification of the person', { userVerified: false }],
      ['with the counter of a copy', { counter: 1 }],
      ['that names another member', { userHandle: Buffer.from('user_other').toString('base64url') }],
      ['that names no member', { userHandle: '' }],
    ])('a response %s is refused', async (_, faults) => {
      const { authenticator } = await register(await newMember())
      for (let i = 0; i < 2; i++) expect((await signIn(authenticator)).status).toBe(200)
      const { status, browser } = await signIn(authenticator, faults)
      expect([status, browser.cookies.size]).toEqual([403, 0])
    })

    test.each([
      ['of another origin', { origin: 'https://evil.example' }],
      ['of another site', { rpId: 'evil.example' }],
      ['without verification of the person', { userVerified: false }],
    ])('a new passkey %s is refused', async (_, faults) => {
      const { status, reply } = await register(await newMember(), faults)
      expect([status, reply.error?.param ?? null]).toEqual([400, 'credential'])
    })

    test('a response is accepted once, also by concurrent requests', async () => {
      const { authenticator } = await register(await newMember())
      const { assertion } = await signIn(authenticator)
      expect((await newBrowser().post('/signin/passkey', assertion)).status).toBe(403)
      const fresh = authenticator.get(await requestOptions(newBrowser()))
      const results = await Promise.all(
        Array.from({ length: 4 }, () => newBrowser().post('/signin/passkey', fresh)),
      )
      expect(results.map(({ status }) => status).sort()).toEqual([200, 403, 403, 403])
    })

    test('a challenge expires, and is for its purpose and member only', async () => {
      const member = await newMember()
      const { authenticator, headers, sent: body } = await register(member)
      const options = await requestOptions(newBrowser())
      server().clock.advance(5 * minute)
      const late = authenticator.get(options)
      expect((await newBrowser().post('/signin/passkey', late)).status).toBe(403)
      server().clock.release()
      const registration = await createOptions(await headersOf(member))
      const mixed = authenticator.get({ challenge: registration.challenge, rpId: 'gate.example.com' })
      expect((await newBrowser().post('/signin/passkey', mixed)).status).toBe(403)
      const other = await headersOf(await newMember())
      const stolen = new Authenticator(origin).create(registration)
      const sent = { key: null, headers: other, body: { name: 'x', credential: stolen } }
      expect((await server().call('POST', '/account/passkeys', sent)).status).toBe(400)
      const replay = await server().call('POST', '/account/passkeys', { key: null, headers, body })
      expect(replay.status).toBe(400)
    })

    test('a passkey that was removed, and one of a deactivated member, are refused', async () => {
      const member = await newMember()
      const { authenticator, headers, reply } = await register(member)
      expect(reply.data.name).toBe('Laptop')
      const list = await server().call('GET', '/account/passkeys', { key: null, headers })
      const path = `/account/passkeys/${list.body.data[0].id}`
      const other = await headersOf(await newMember())
      expect((await server().call('DELETE', path, { key: null, headers: other })).status).toBe(404)
      expect((await server().call('DELETE', path, { key: null, headers })).status).toBe(200)
      expect((await signIn(authenticator)).status).toBe(403)
      const second = await newMember()
      const { authenticator: kept } = await register(second)
      const { db } = server().gateway
      await db.updateTable('members').set({ active: 0 }).where('id', '=', second.id).execute()
      expect((await signIn(kept)).status).toBe(403)
    })

    test('a passkey is added only after a recent sign-in', async () => {
      const headers = await headersOf(await newMember())
      server().clock.advance(16 * minute)
      const { status } = await server().call('POST', '/account/passkeys/options', { key: null, headers })
      expect(status).toBe(403)
    })

    test('requests from another site, malformed ones and large ones are refused', async () => {
      const hostile = new Browser(server(), { origin: 'https://evil.example' })
      expect((await hostile.post('/signin/passkey/options', {})).status).toBe(403)
      const browser = newBrowser()
      for (const body of [null, [], {}, { id: 'x' }, { id: 1, rawId: 'x', type: 'public-key', response: {} }])
        expect((await browser.post('/signin/passkey', body)).status).toBe(400)
      expect((await browser.post('/signin/passkey', { id: 'x'.repeat(70_000) })).status).toBe(413)
    })

    test('the script comes from this server, and is the only one', async () => {
      const { text, headers } = await newBrowser().open('/signin')
      expect(text.match(/<script/g)).toHaveLength(1)
      expect(text).toContain('<script src="signin/passkey.js" defer>')
      expect(headers.get('content-security-policy')).toContain("script-src 'self'")
      const script = await newBrowser().open('/signin/passkey.js')
      expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    })
  },
  { settings: `public_url: ${origin}\ntrusted_proxies: [127.0.0.1]\n` },
)
