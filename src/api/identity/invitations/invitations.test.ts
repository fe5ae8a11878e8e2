import { afterAll, afterEach, expect, test } from 'bun:test'
import { Browser } from '../../../../test/support/browser.ts'
import { createSessionCaller, describeOnEachDatabase } from '../../../../test/support/harness.ts'
import { startMailServer } from '../../../../test/support/mail-server.ts'
import { removeMember, setMemberActive, updateMember } from '../../../identity/organizations.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import type { Db } from '../../../platform/db/db.ts'
import type { Clock } from '../../../platform/time/clock.ts'

const path = '/organization/invitations'
const day = 86_400_000

const inbox = await startMailServer()
afterAll(() => inbox.close())

type Leave = (tx: Db, clock: Clock, organizationId: string, id: string) => Promise<unknown>
const deactivate: Leave = (tx, clock, organizationId, id) =>
  setMemberActive(tx, clock, organizationId, id, false)
const demote: Leave = (tx, clock, organization_id, id) =>
  updateMember(tx, clock, { organization_id, id }, { role: 'org:member' })

describeOnEachDatabase(
  'Invitations',
  (server) => {
    afterEach(() => server().clock.release())
    const newAddress = () => `${newId('guest')}@example.com`
    const invite = async (body: object = {}) => {
      const result = await server().call('POST', path, { body: { email: newAddress(), ...body } })
      if (result.status === 201) await inbox.next()
      return { ...result, token: new URL(result.body.url ?? 'http://x').searchParams.get('token') ?? '' }
    }
    const accept = async (token: string) => {
      const browser = new Browser(server())
      const { status } = await browser.submit('/invitation', { token, first_name: 'Ada' })
      return { browser, status }
    }
    const membersOf = async () => (await server().call('GET', '/organization/members')).body.data

    test('the link is shown once and mailed; accepting creates the member and signs in', async () => {
      const workspace = await server().call('POST', '/workspaces', {
        body: { name: 'Lab', slug: newId('lab').replace('_', '-') },
      })
      const email = newAddress()
      const body = { email: email.toUpperCase(), role: 'org:admin', workspace_ids: [workspace.body.data.id] }
      const created = await server().call('POST', path, { body })
      expect(created.body).toMatchObject({ mailed: true, data: { email, status: 'open' } })
      const mail = await inbox.next()
      expect([mail.to, mail.text.includes(created.body.url)]).toEqual([[email], true])
      const url = new URL(created.body.url)
      const browser = new Browser(server())
      expect((await browser.open(url.pathname + url.search)).text).toContain(email)
      const token = url.searchParams.get('token') ?? ''
      expect((await browser.submit('/invitation', { token, first_name: ' Ada ' })).status).toBe(303)
      const cookie = `headgate_session=${browser.cookies.get('headgate_session')}`
      const { data } = (await server().call('GET', '/session', { key: null, headers: { cookie } })).body
      expect(data).toMatchObject({
        member: { email, first_name: 'Ada', last_name: null, role: 'org:admin' },
        method: 'invitation',
      })
      expect(data.workspaces).toHaveLength(2)
      const list = (await server().call('GET', `${path}?limit=100`)).body.data
      expect(list.at(-1).status).toBe('accepted')
      const text = JSON.stringify([
        list,
        await server().gateway.db.selectFrom('audit_entries').selectAll().execute(),
      ])
      expect(text).toContain('invitation.accept')
      expect(text).not.toContain(token)
    })

    test('a used, revoked, expired or unknown invitation is refused', async () => {
      const [used, revoked, expired] = [await invite(), await invite(), await invite({ expires_in: 60 })]
      expect((await accept(used.token)).status).toBe(303)
      expect((await server().call('DELETE', `${path}/${revoked.body.data.id}`)).status).toBe(200)
      expect((await server().call('DELETE', `${path}/${revoked.body.data.id}`)).status).toBe(404)
      expect((await server().call('DELETE', `${path}/${used.body.data.id}`)).status).toBe(404)
      server().clock.advance(60_000)
      for (const token of [used.token, revoked.token, expired.token, 'unknown', '']) {
        const { browser, status } = await accept(token)
        expect([status, browser.isSignedIn]).toEqual([401, false])
        expect((await browser.open(`/invitation?token=${token}`)).status).toBe(401)
      }
      const late = await invite()
      server().clock.advance(7 * day)
      expect((await accept(late.token)).status).toBe(401)
    })

    test('R22 an invitation makes one member, also with concurrent requests', async () => {
      const { token, body } = await invite()
      const results = await Promise.all(Array.from({ length: 6 }, () => accept(token)))
      expect(results.map(({ status }) => status).sort()).toEqual([303, 401, 401, 401, 401, 401])
      const members = await membersOf()
      expect(members.filter(({ email }: { email: string }) => email === body.data.email)).toHaveLength(1)
    })

    test('no spelling of an address makes a second account', async () => {
      const name = newId('rené')
      const first = await invite({ email: `${name}@bücher.example` })
      expect(first.body.data.email).toBe(`${name}@xn--bcher-kva.example`)
      expect((await accept(first.token)).status).toBe(303)
      for (const email of [
        `${name.toUpperCase()}@BÜCHER.example`,
        `${name.normalize('NFD')}@bücher.example`.normalize('NFD'),
        `${name}@xn--bcher-kva.example`,
      ]) {
        expect((await invite({ email })).status, email).toBe(409)
      }
      for (const email of [
        'ｏwner@example.com',
        'o\u200bwner@example.com',
        'owner@example.com, other@example.com',
        'owner@exa\u2100mple.com',
        'owner',
      ]) {
        expect((await invite({ email })).status, email).toBe(400)
      }
    })

    test('S1 the open invitations of an admin who is removed, deactivated or demoted are revoked', async () => {
      const { gateway } = server()
      const tokens: string[] = []
      for (const leave of [removeMember, deactivate, demote]) {
        const admin = await createSessionCaller(server(), { role: 'org:admin' })
        const { body } = await admin.call('POST', path, { body: { email: newAddress(), role: 'org:admin' } })
        await inbox.next()
        tokens.push(new URL(body.url).searchParams.get('token') ?? '')
        const { organization_id, id } = admin.member
        await gateway.db.transaction().execute((tx) => leave(tx, gateway.clock, organization_id, id))
      }
      for (const token of tokens) expect((await accept(token)).status).toBe(401)
    })

    test('two invitations of one address make one member', async () => {
      const email = newAddress()
      const [first, second] = [await invite({ email }), await invite({ email })]
      expect((await accept(first.token)).status).toBe(303)
      expect((await accept(second.token)).status).toBe(409)
    })

    test('workspaces of another organization do not exist', async () => {
      const { status } = await invite({ workspace_ids: [server().foreign.workspace.id] })
      expect(status).toBe(404)
    })

    test('a form from another site is 403', async () => {
      const { token } = await invite()
      const browser = new Browser(server(), { origin: 'https://evil.example' })
      expect((await browser.submit('/invitation', { token })).status).toBe(403)
      expect((await accept(token)).status).toBe(303)
    })
  },
  {
    settings: `public_url: http://gate.example.com
smtp: { host: 127.0.0.1, port: ${inbox.port}, tls: none, from: gate@example.com }\n`,
  },
)
