import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
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
  verifyDomain,
} from '../../../../test/support/sso.ts'
import { createMember } from '../../../identity/members.ts'
import { setMemberActive } from '../../../identity/organizations.ts'

let counter = 0

describeOnEachDatabase('Single sign-on', (server) => {
  let provider: TestProvider
  let setup: SsoSetup
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
  })
  afterAll(() => provider.stop())
  beforeEach(async () => {
    setup = await connectProvider(server(), provider, { connection: { jit: true } })
  })
  afterEach(async () => {
    provider.tamper = null
    server().clock.release()
    await resetSso(server())
  })

  /** An account at the provider; returns its subject. */
  const account = (claims: Record<string, unknown> = {}): { subject: string; email: string } => {
    const subject = `subject-${++counter}`
    const email = `person-${counter}@example.com`
    provider.accounts.set(subject, { email, email_verified: true, ...claims })
    return { subject, email }
  }
  const member = (email: string) =>
    createMember(server().gateway.db, server().clock, {
      organizationId: server().own.organization.id,
      email,
      role: 'org:member',
    })
  const memberEmails = async () => {
    const rows = await server().gateway.db.selectFrom('members').select('email').execute()
    return rows.map((row) => row.email)
  }

  test('a new person becomes a member, and signs in as the same member again', async () => {
    const { subject, email } = account({ given_name: 'Ada', family_name: 'Lovelace' })
    const browser = new TestBrowser()
    const done = await signIn(setup, subject, browser)
    expect([done.status, done.location]).toEqual([303, '/'])
    expect(await findSignedIn(server(), browser)).toBe(email)
    const again = new TestBrowser()
    await signIn(setup, subject, again)
    expect(await findSignedIn(server(), again)).toBe(email)
    const rows = await server()
      .gateway.db.selectFrom('members')
      .selectAll()
      .where('email', '=', email)
      .execute()
    expect(rows).toHaveLength(1)
    expect(rows[0]).toMatchObject({ first_name: 'Ada', last_name: 'Lovelace', role: 'org:member' })
  })

  test('an existing member is linked by a verified address, whatever its case', async () => {
    const { id } = await member('Grace.Hopper@Example.com')
    const { subject } = account({ email: 'GRACE.hopper@EXAMPLE.com' })
    const browser = new TestBrowser()
    expect((await signIn(setup, subject, browser)).status).toBe(303)
    expect(await findSignedIn(server(), browser)).toBe('grace.hopper@example.com')
    const identities = await server().call('GET', `/organization/sso/identities?user_id=${id}`)
    expect(identities.body.data).toMatchObject([{ user_id: id, subject, issuer: provider.issuer }])
  })

  test('a domain is the same in Unicode and in Punycode', async () => {
    await verifyDomain(server(), server().own, 'b\u00fccher.example')
    const { id } = await member('ada@b\u00fccher.example')
    const { subject } = account({ email: 'Ada@xn--bcher-kva.example' })
    expect((await signIn(setup, subject)).status).toBe(303)
    const { body } = await server().call('GET', `/organization/sso/identities?user_id=${id}`)
    expect(body.data).toHaveLength(1)
  })

  test('a person whose address changes stays the same member', async () => {
    const { subject, email } = account()
    await signIn(setup, subject)
    provider.accounts.set(subject, { email: 'owner@elsewhere.test', email_verified: false })
    const browser = new TestBrowser()
    await signIn(setup, subject, browser)
    expect(await findSignedIn(server(), browser)).toBe(email)
  })

  test.each<[string, Record<string, unknown>, string]>([
    ['an unverified address', { email_verified: false }, 'verified'],
    ['an address without a word about its verification', { email_verified: undefined }, 'verified'],
    ['no address', { email: undefined }, 'no usable e-mail address'],
    ['an address of another domain', { email: 'victim@other.test' }, 'does not belong'],
    ['a subdomain', { email: 'victim@mail.example.com' }, 'does not belong'],
    ['a domain that only looks like it', { email: 'victim@ex\u0430mple.com' }, 'does not belong'],
    ['two addresses in one', { email: 'eve@evil.test,victim@example.com' }, 'no usable e-mail address'],
    ['two at signs', { email: 'victim@example.com@evil.test' }, 'no usable e-mail address'],
    ['compatibility characters', { email: '\uff56ictim@example.com' }, 'no usable e-mail address'],
  ])('%s neither links nor creates a member', async (_, claims, message) => {
    if (!(await memberEmails()).includes('victim@example.com')) await member('victim@example.com')
    const before = await memberEmails()
    const { subject } = account(claims)
    const browser = new TestBrowser()
    const refused = await signIn(setup, subject, browser)
    expect(refused.status).toBe(403)
    expect(refused.html).toContain(message)
    expect(await findSignedIn(server(), browser)).toBeNull()
    expect(await memberEmails()).toEqual(before)
  })

  test('a homograph of a member is another member', async () => {
    const { id } = await member('ada@example.com')
    const { subject } = account({ email: '\u0430da@example.com' })
    expect((await signIn(setup, subject)).status).toBe(303)
    const { body } = await server().call('GET', `/organization/sso/identities?user_id=${id}`)
    expect(body.data).toEqual([])
  })

  test('a second person with the address of a linked member is refused, until an admin removes the link', async () => {
    const first = account()
    await signIn(setup, first.subject)
    const second = account({ email: first.email })
    const refused = await signIn(setup, second.subject)
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('another person')
    const { body } = await server().call('GET', '/organization/sso/identities')
    const link = body.data.find((row: { subject: string }) => row.subject === first.subject)
    expect((await server().call('DELETE', `/organization/sso/identities/${link.id}`)).status).toBe(200)
    expect((await signIn(setup, second.subject)).status).toBe(303)
  })

  test('without jit only members sign in', async () => {
    await server().call('PATCH', `/organization/sso/connections/${setup.connectionId}`, {
      body: { jit: false },
    })
    const { subject } = account()
    const refused = await signIn(setup, subject)
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('not a member')
  })

  test('a deactivated member is refused, linked or not', async () => {
    const { subject, email } = account()
    await signIn(setup, subject)
    const { db } = server().gateway
    const row = await db
      .selectFrom('members')
      .selectAll()
      .where('email', '=', email)
      .executeTakeFirstOrThrow()
    const setActive = (active: boolean) =>
      db
        .transaction()
        .execute((tx) => setMemberActive(tx, server().clock, row.organization_id, row.id, active))
    await setActive(false)
    const refused = await signIn(setup, subject)
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('deactivated')
    await db.deleteFrom('sso_identities').where('user_id', '=', row.id).execute()
    expect((await signIn(setup, subject)).status).toBe(403)
    await setActive(true)
    expect((await signIn(setup, subject)).status).toBe(303)
  })

  test('R37 a domain of another organization, or an unverified one, signs nobody in', async () => {
    await verifyDomain(server(), server().foreign, 'foreign.test')
    await server().call('POST', '/organization/sso/domains', { body: { domain: 'pending.test' } })
    for (const email of ['eve@foreign.test', 'eve@pending.test']) {
      const { subject } = account({ email })
      expect((await signIn(setup, subject)).status).toBe(403)
    }
  })

  test('the return path is one of this server', async () => {
    const { subject } = account()
    const cases: [string, string][] = [
      ['/auth?callback_url=https%3A%2F%2Fapp.test', '/auth?callback_url=https%3A%2F%2Fapp.test'],
      ['//evil.test', '/'],
      ['/\\evil.test', '/'],
      ['/.//evil.test', '/'],
      ['https://evil.test/', '/'],
      ['javascript:alert(1)', '/'],
      ['/\t/evil.test', '/'],
    ]
    for (const [wanted, location] of cases) {
      const browser = new TestBrowser()
      const { url } = await approve(setup, browser, subject, `?return_to=${encodeURIComponent(wanted)}`)
      expect((await browser.visit(url)).location).toBe(location)
    }
  })

  test('a session is new, and the one before it ends', async () => {
    const { subject } = account()
    const browser = new TestBrowser()
    await signIn(setup, subject, browser)
    const jar = browser.cookiesOf(server().url)
    const first = jar.get('headgate_session') ?? ''
    await signIn(setup, subject, browser)
    expect(jar.get('headgate_session')).not.toBe(first)
    const old = new TestBrowser()
    old.cookiesOf(server().url).set('headgate_session', first)
    expect(await findSignedIn(server(), old)).toBeNull()
  })

  test('sign-ins and refusals are in the audit log, without secrets', async () => {
    const good = account()
    const bad = account({ email_verified: false })
    await signIn(setup, good.subject)
    await signIn(setup, bad.subject)
    const { db } = server().gateway
    const entries = await db
      .selectFrom('audit_entries')
      .selectAll()
      .orderBy('seq', 'desc')
      .limit(20)
      .execute()
    const refused = entries.find(({ outcome }) => outcome === 'refused')
    expect(refused).toMatchObject({ action: 'session.create', target_id: setup.connectionId })
    expect(refused?.changes).toContain('email_unverified')
    expect(
      entries.some(
        (e) => e.action === 'session.create' && e.outcome === 'success' && e.actor_type === 'member',
      ),
    ).toBe(true)
    expect(JSON.stringify(entries)).not.toContain(provider.clientSecret)
  })

  test('after a form of this server, a page leads to the provider: a redirect would be blocked', async () => {
    const headers = { 'sec-fetch-site': 'same-origin' }
    const response = await fetch(`${server().url}/signin/oidc/${setup.connectionId}`, { headers })
    expect(response.status).toBe(200)
    expect(response.headers.get('refresh')).toStartWith(`0; url=${provider.issuer}/auth?`)
    expect(await response.text()).toContain('Continue to Company')
    expect(response.headers.getSetCookie()[0]).toMatch(/^headgate_oidc=.*HttpOnly.*SameSite=Lax/)
  })

  test('an unknown connection is 404', async () => {
    const browser = new TestBrowser()
    for (const id of ['nothing', '6f1c2a34-0000-4000-8000-000000000000'])
      expect((await browser.visit(`${server().url}/signin/oidc/${id}`)).status).toBe(404)
  })
})
