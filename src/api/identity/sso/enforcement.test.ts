import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { decodeBase32 } from '../../../../test/support/base32.ts'
import { inputOf } from '../../../../test/support/browser.ts'
import { describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startOidcProvider, type TestProvider } from '../../../../test/support/oidc-provider.ts'
import { headersOf } from '../../../../test/support/sessions.ts'
import {
  connectProvider,
  findSignedIn,
  resetSso,
  type SsoSetup,
  signIn,
  TestBrowser,
} from '../../../../test/support/sso.ts'
import { createMember, type Member } from '../../../identity/members.ts'
import { removeMember, updateMember } from '../../../identity/organizations.ts'
import { hashPassword, storePassword } from '../../../identity/passwords.ts'
import { createSignInToken } from '../../../identity/sessions.ts'
import { findSignInRule, isMethodAllowed } from '../../../identity/sign-in-rules.ts'
import { confirmTotp, createTotp } from '../../../identity/totp.ts'
import { computeTotp, totpStepAt } from '../../../platform/crypto/totp.ts'

describeOnEachDatabase('Enforced single sign-on', (server) => {
  let provider: TestProvider
  let setup: SsoSetup
  let counter = 0
  beforeAll(async () => {
    provider = await startOidcProvider(server().url)
  })
  afterAll(() => provider.stop())
  beforeEach(async () => {
    setup = await connectProvider(server(), provider)
  })
  afterEach(() => resetSso(server()))

  const createPerson = (role: Member['role'] = 'org:member') =>
    createMember(server().gateway.db, server().clock, {
      organizationId: server().own.organization.id,
      email: `person-${++counter}@example.com`,
      role,
    })
  const useLink = async (member: Member, browser = new TestBrowser()) => {
    const { db, clock } = server().gateway
    const token = await createSignInToken(db, clock, member.id)
    return browser.visit(`${server().url}/signin`, { token })
  }
  const setPolicy = (body: Record<string, unknown>) => server().call('PATCH', '/organization/sso', { body })

  test('other methods are refused, except from break-glass admins; single sign-on works', async () => {
    const [member, admin] = [await createPerson(), await createPerson('org:admin')]
    expect((await setPolicy({ enforced: true, break_glass_user_ids: [admin.id] })).status).toBe(200)
    const refused = await useLink(member)
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('requires single sign-on')
    expect((await useLink(admin)).status).toBe(303)
    expect((await useLink(server().own.owner)).status).toBe(403)
    provider.accounts.set('member', { email: member.email, email_verified: true })
    const browser = new TestBrowser()
    expect((await signIn(setup, 'member', browser)).status).toBe(303)
    expect(await findSignedIn(server(), browser)).toBe(member.email)
    const { db } = server().gateway
    expect(await isMethodAllowed(db, member.id, 'password')).toBe(false)
    expect(await isMethodAllowed(db, admin.id, 'password')).toBe(true)
    await setPolicy({ enforced: false })
    expect((await useLink(member)).status).toBe(303)
  })

  test('R37 another organization is not affected', async () => {
    await setPolicy({ enforced: true, break_glass_user_ids: [server().own.owner.id] })
    expect((await useLink(server().foreign.owner)).status).toBe(303)
  })

  test('enforcing ends the sessions that were started with other methods', async () => {
    const [member, admin] = [await createPerson(), await createPerson('org:admin')]
    const [memberBrowser, adminBrowser] = [new TestBrowser(), new TestBrowser()]
    await useLink(member, memberBrowser)
    await useLink(admin, adminBrowser)
    await setPolicy({ enforced: true, break_glass_user_ids: [admin.id] })
    expect(await findSignedIn(server(), memberBrowser)).toBeNull()
    expect(await findSignedIn(server(), adminBrowser)).toBe(admin.email)
  })

  test('S1 a break-glass admin who is demoted loses the sessions of other methods', async () => {
    const [admin, other] = [await createPerson('org:admin'), await createPerson('org:admin')]
    await setPolicy({ enforced: true, break_glass_user_ids: [admin.id, other.id] })
    const [browser, otherBrowser] = [new TestBrowser(), new TestBrowser()]
    await useLink(admin, browser)
    await useLink(other, otherBrowser)
    const body = { role: 'org:member' }
    expect((await server().call('PATCH', `/organization/members/${admin.id}`, { body })).status).toBe(200)
    expect(await findSignedIn(server(), browser)).toBeNull()
    expect(await findSignedIn(server(), otherBrowser)).toBe(other.email)
  })

  test('S1 a sign-in that waits for its second factor is refused', async () => {
    const [member, admin] = [await createPerson(), await createPerson('org:admin')]
    const { gateway, url, clock } = server()
    const { db, identity } = gateway
    await storePassword(db, clock, member.id, await hashPassword(identity.passwordQueue, 'seven blue herons'))
    const secret = decodeBase32(await createTotp(db, gateway, member.id))
    await confirmTotp(db, clock, member.id)
    const browser = new TestBrowser()
    const form = { email: member.email, password: 'seven blue herons' }
    const { html } = await browser.visit(`${url}/signin/password`, form)
    const pending = inputOf(html, 'pending')
    expect(pending).not.toBe('')
    await setPolicy({ enforced: true, break_glass_user_ids: [admin.id] })
    const code = computeTotp(secret, totpStepAt(clock.now()))
    const refused = await browser.visit(`${url}/signin/code`, { pending, code })
    expect(refused.status).toBe(403)
    expect(refused.html).toContain('requires single sign-on')
    expect(await findSignedIn(server(), browser)).toBeNull()
    expect(await db.selectFrom('sessions').where('user_id', '=', member.id).selectAll().execute()).toEqual([])
  })

  test('S1 R22 a session that another node was starting meanwhile has no effect', async () => {
    const [member, admin] = [await createPerson(), await createPerson('org:admin')]
    const { db } = server().gateway
    const sessionsOf = ({ id }: Member) => db.selectFrom('sessions').selectAll().where('user_id', '=', id)
    const browser = new TestBrowser()
    await useLink(member, browser)
    const sessions = await sessionsOf(member).execute()
    expect(await findSignedIn(server(), browser)).toBe(member.email)
    await setPolicy({ enforced: true, break_glass_user_ids: [admin.id] })
    // Its transaction began before the change, and was committed after it.
    await db.insertInto('sessions').values(sessions).execute()
    expect(await findSignedIn(server(), browser)).toBeNull()
    const [token = ''] = browser.cookiesOf(server().url).values()
    const headers = headersOf(server(), token)
    expect((await server().call('GET', '/session', { key: null, headers })).status).toBe(401)
  })

  test('enforcing needs a break-glass admin and a connection', async () => {
    const member = await createPerson()
    for (const ids of [[], [member.id], [server().foreign.owner.id], ['user_unknown']]) {
      const { status, body } = await setPolicy({ enforced: true, break_glass_user_ids: ids })
      expect(status).toBe(400)
      expect(body.error.message).toStartWith('break_glass_user_ids:')
    }
    await resetSso(server())
    const { status, body } = await setPolicy({
      enforced: true,
      break_glass_user_ids: [server().own.owner.id],
    })
    expect(status).toBe(400)
    expect(body.error.message).toStartWith('enforced:')
  })

  test('the last break-glass admin and the last connection stay while it is enforced', async () => {
    const admin = await createPerson('org:admin')
    await setPolicy({ enforced: true, break_glass_user_ids: [admin.id] })
    const { db, clock } = server().gateway
    const organizationId = server().own.organization.id
    const remove = () => db.transaction().execute((tx) => removeMember(tx, clock, organizationId, admin.id))
    const demote = () =>
      db.transaction().execute((tx) => updateMember(tx, clock, admin, { role: 'org:member' }))
    await expect(remove()).rejects.toThrow('last break-glass admin')
    await expect(demote()).rejects.toThrow('last break-glass admin')
    const connection = `/organization/sso/connections/${setup.connectionId}`
    expect((await server().call('DELETE', connection)).status).toBe(409)
    await setPolicy({ break_glass_user_ids: [admin.id, server().own.owner.id] })
    await remove()
  })

  test('an address leads to the connection of its verified domain', async () => {
    const { db } = server().gateway
    const rule = await findSignInRule(db, 'Somebody@EXAMPLE.com')
    expect(rule).toMatchObject({ connection: { id: setup.connectionId }, enforced: false })
    const showMethods = async (email: string) => {
      const body = new URLSearchParams({ email })
      return (await fetch(`${server().url}/signin/methods`, { method: 'POST', body })).text()
    }
    expect(await showMethods('a@example.com')).toContain(`signin/oidc/${setup.connectionId}`)
    expect(await showMethods('a@elsewhere.test')).not.toContain('/signin/oidc/')
    await setPolicy({ enforced: true, break_glass_user_ids: [server().own.owner.id] })
    expect((await findSignInRule(db, 'a@example.com'))?.enforced).toBe(true)
    await server().call('POST', '/organization/sso/domains', { body: { domain: 'pending.test' } })
    for (const email of ['a@pending.test', 'a@mail.example.com', 'example.com', ''])
      expect(await findSignInRule(db, email)).toBeUndefined()
    const second = await connectProvider(server(), provider, { domain: null })
    const body = { domain: 'second.test', connection_id: second.connectionId }
    const { id } = (await server().call('POST', '/organization/sso/domains', { body })).body.data
    await db.updateTable('sso_domains').set({ verified_at: 'now' }).where('id', '=', id).execute()
    expect((await findSignInRule(db, 'a@second.test'))?.connection.id).toBe(second.connectionId)
  })
})
