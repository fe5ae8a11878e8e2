import { afterAll, afterEach, describe, expect, test } from 'bun:test'
import { decodeBase32 } from '../../../../test/support/base32.ts'
import { Browser, inputOf } from '../../../../test/support/browser.ts'
import { describeOnEachDatabase, installedHashCost } from '../../../../test/support/harness.ts'
import { startMailServer } from '../../../../test/support/mail-server.ts'
import { createSessionHeaders } from '../../../../test/support/sessions.ts'
import { createMember, type Member } from '../../../identity/members.ts'
import { setMemberActive } from '../../../identity/organizations.ts'
import { newId } from '../../../platform/crypto/ids.ts'
import { computeTotp, totpStepAt } from '../../../platform/crypto/totp.ts'

const password = 'seven blue herons'
const minute = 60_000

const inbox = await startMailServer()
afterAll(() => inbox.close())

const settings = `
public_url: http://gate.example.com
trusted_proxies: [127.0.0.1]
smtp: { host: 127.0.0.1, port: ${inbox.port}, tls: none, from: gate@example.com }
`

describeOnEachDatabase(
  'Sign-in with an address',
  (server) => {
    afterEach(() => server().clock.release())
    const call = async (member: Member, method: string, path: string, body?: unknown) =>
      server().call(method, path, {
        key: null,
        headers: await createSessionHeaders(server(), member),
        ...(body !== undefined && { body }),
      })
    const newMember = async (email = `${newId('m')}@example.com`) => {
      const { gateway, own } = server()
      const organizationId = own.organization.id
      return createMember(gateway.db, gateway.clock, { organizationId, email, role: 'org:member' })
    }
    const memberWithPassword = async (email?: string) => {
      const member = await newMember(email)
      expect((await call(member, 'PUT', '/account/password', { password })).status).toBe(200)
      return member
    }
    let client = 0
    /** Each has an address of its own. */
    const newBrowser = (ip = `192.0.2.${++client % 250}`) => new Browser(server(), { 'x-forwarded-for': ip })
    const signIn = (browser: Browser, email: string, entered = password) =>
      browser.submit('/signin/password', { email, password: entered })
    const lastEvent = async (chain: string) =>
      server()
        .gateway.db.selectFrom('audit_entries')
        .selectAll()
        .where('chain_id', '=', chain)
        .orderBy('seq', 'desc')
        .executeTakeFirst()

    test('the address leads to the methods, and the password to a session', async () => {
      const member = await memberWithPassword()
      const browser = newBrowser()
      const first = await browser.open('/signin')
      expect(first.status).toBe(401)
      expect(first.text).toContain('action="signin/methods"')
      const second = await browser.submit('/signin/methods', { email: member.email })
      expect(second.text).toContain('action="signin/password"')
      expect(second.headers.get('content-security-policy')).toStartWith(
        "default-src 'none'; script-src 'self'; connect-src 'self';",
      )
      const { status, location } = await signIn(browser, member.email)
      expect([status, location]).toEqual([303, '/'])
      expect((await browser.open('/signin')).text).toContain(member.email)
      const event = await lastEvent(member.organization_id)
      expect(event).toMatchObject({ action: 'session.create', actor_id: member.id, outcome: 'success' })
      expect(event?.changes).toBe('{"details":{"method":"password"}}')
    })

    test('an address that no member has, and a wrong password, get the same reply', async () => {
      const member = await memberWithPassword()
      const unknown = `${newId('x')}@example.com`
      const shownFor = async (email: string) => {
        const methods = await newBrowser().submit('/signin/methods', { email })
        const refused = await signIn(newBrowser(), email, 'a wrong password')
        const mailed = await newBrowser().submit('/signin/email', { email })
        return [methods, refused, mailed].map(({ status, text }) => [status, text.replaceAll(email, 'EMAIL')])
      }
      const shown = await shownFor(unknown)
      expect(shown[1]?.[0]).toBe(401)
      expect(await lastEvent('installation')).toMatchObject({
        action: 'session.create',
        outcome: 'refused',
        target_id: 'unknown',
      })
      expect(await shownFor(member.email)).toEqual(shown)
      expect((await inbox.next()).to).toEqual([member.email])
      const refusal = await server()
        .gateway.db.selectFrom('audit_entries')
        .selectAll()
        .where('target_id', '=', member.id)
        .where('outcome', '=', 'refused')
        .executeTakeFirst()
      expect(refusal).toMatchObject({ actor_type: 'anonymous', chain_id: member.organization_id })
    })

    test('the case and composition of an address do not matter; look-alike letters do', async () => {
      const name = newId('rené').normalize('NFC')
      const member = await memberWithPassword(`${name}@example.com`)
      for (const spelled of [
        member.email.toUpperCase(),
        member.email.normalize('NFD'),
        ` ${member.email} `,
        `${name}@ｅxample。com`,
      ]) {
        expect((await signIn(newBrowser(), spelled)).status, spelled).toBe(303)
      }
      const other = `${name}@exаmple.com` // A Cyrillic letter.
      for (const spelled of [other, `ｘ${name}@example.com`, `\u200b${member.email}`]) {
        expect((await signIn(newBrowser(), spelled)).status, spelled).toBe(401)
      }
    })

    test('a member who was deactivated cannot sign in, nor can one without a password', async () => {
      const member = await memberWithPassword()
      const { gateway } = server()
      await gateway.db
        .transaction()
        .execute((tx) => setMemberActive(tx, gateway.clock, member.organization_id, member.id, false))
      expect((await signIn(newBrowser(), member.email)).status).toBe(401)
      const without = await newMember()
      for (const entered of ['', password, 'x'.repeat(5000)])
        expect((await signIn(newBrowser(), without.email, entered)).status).toBe(401)
    })

    test('a form from another site is 403', async () => {
      const member = await memberWithPassword()
      for (const path of ['/signin/methods', '/signin/password', '/signin/email', '/signin/code']) {
        const browser = new Browser(server(), { 'sec-fetch-site': 'cross-site' })
        const { status } = await browser.submit(path, { email: member.email, password })
        expect(status, path).toBe(403)
        expect(browser.isSignedIn).toBe(false)
      }
    })

    test('the mailed link signs in once, within 15 minutes', async () => {
      const member = await newMember()
      await newBrowser().submit('/signin/email', { email: member.email })
      const mail = await inbox.next()
      expect(mail.to).toEqual([member.email])
      const token = /signin\?token=([\w-]+)/.exec(mail.text)?.[1] ?? ''
      const browser = newBrowser()
      expect((await browser.submit('/signin', { token })).status).toBe(303)
      expect((await newBrowser().submit('/signin', { token })).status).toBe(401)
      const session = await server()
        .gateway.db.selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', member.id)
        .executeTakeFirstOrThrow()
      expect(session.method).toBe('email')
      await newBrowser().submit('/signin/email', { email: member.email })
      const late = /signin\?token=([\w-]+)/.exec((await inbox.next()).text)?.[1] ?? ''
      server().clock.advance(15 * minute)
      expect((await newBrowser().submit('/signin', { token: late })).status).toBe(401)
    })

    test('S1 the link in a mail leads to this server, whatever Host the request names', async () => {
      const member = await newMember()
      const stranger = new Browser(server(), { host: 'evil.example', 'x-forwarded-for': '198.51.100.7' })
      await stranger.submit('/signin/email', { email: member.email })
      const { text } = await inbox.next()
      expect(text).toContain('\n\nhttp://gate.example.com/signin?token=')
      expect(text).not.toContain('evil.example')
    })

    describe('guessing', () => {
      test('a client waits longer after each wrong password; others are not affected', async () => {
        const member = await memberWithPassword()
        const guess = () => signIn(newBrowser('198.51.100.7'), member.email, 'a wrong password')
        server().clock.freeze(new Date().toISOString())
        for (let i = 0; i < 5; i++) expect((await guess()).status).toBe(401)
        const waits: number[] = []
        for (let i = 0; i < 4; i++) {
          const { status, headers } = await guess()
          expect(status).toBe(429)
          waits.push(Number(headers.get('retry-after')))
          // The right password is not tried either.
          expect((await signIn(newBrowser('198.51.100.7'), member.email)).status).toBe(429)
          server().clock.advance(waits[i]! * 1000)
          expect((await guess()).status).toBe(401)
        }
        expect(waits).toEqual([1, 2, 4, 8])
        expect((await signIn(newBrowser(), member.email)).status).toBe(303)
      })

      test('a client that tries many addresses waits too, with any address of its IPv6 network', async () => {
        server().clock.freeze(new Date().toISOString())
        const guess = (i: number) =>
          signIn(newBrowser(`2001:db8:1:1::${i.toString(16)}`), `${newId('x')}@example.com`)
        for (let i = 1; i <= 20; i++) expect((await guess(i)).status).toBe(401)
        expect((await guess(21)).status).toBe(429)
        const member = await memberWithPassword()
        expect((await signIn(newBrowser('2001:db8:1:2::1'), member.email)).status).toBe(303)
      })

      test('concurrent guesses count before their result is known', async () => {
        const member = await memberWithPassword()
        server().clock.freeze(new Date().toISOString())
        const guesses = Array.from({ length: 12 }, () =>
          signIn(newBrowser('198.51.100.9'), member.email, 'a wrong password'),
        )
        const statuses = (await Promise.all(guesses)).map(({ status }) => status)
        expect(statuses.filter((status) => status === 401)).toHaveLength(5)
        expect(statuses.filter((status) => status === 429)).toHaveLength(7)
      })

      test('links by mail are limited for a client and address', async () => {
        const email = `${newId('x')}@example.com`
        const browser = newBrowser('198.51.100.11')
        for (let i = 0; i < 5; i++)
          expect((await browser.submit('/signin/email', { email })).status).toBe(200)
        expect((await browser.submit('/signin/email', { email })).status).toBe(429)
      })

      test('a client cannot have links mailed to many members; other clients and methods still work', async () => {
        const members = await Promise.all(Array.from({ length: 24 }, () => newMember()))
        const last = await memberWithPassword()
        server().clock.freeze(new Date().toISOString())
        const request = (ip: string, email: string) => newBrowser(ip).submit('/signin/email', { email })
        const statuses: number[] = []
        for (const { email } of members) statuses.push((await request('198.51.100.20', email)).status)
        expect(statuses).toEqual([...Array(20).fill(200), ...Array(4).fill(429)])
        const receivers = new Set<string | undefined>()
        for (let i = 0; i < 20; i++) receivers.add((await inbox.next()).to[0])
        expect([...receivers].sort()).toEqual(
          members
            .slice(0, 20)
            .map(({ email }) => email)
            .sort(),
        )
        // In an hour, a few more.
        let later = 0
        for (let minutes = 0; minutes < 60; minutes++) {
          server().clock.advance(minute)
          if ((await request('198.51.100.20', `${newId('x')}@example.com`)).status === 200) later++
        }
        expect(later).toBeLessThan(15)
        // Behind the same address, a password still works; at another address, a link.
        expect((await signIn(newBrowser('198.51.100.20'), last.email)).status).toBe(303)
        expect((await request('198.51.100.21', last.email)).status).toBe(200)
        expect((await inbox.next()).to).toEqual([last.email])
      })

      test('a site with many IPv6 networks is one client; its neighbors are not affected', async () => {
        server().clock.freeze(new Date().toISOString())
        const request = (ip: string) =>
          newBrowser(ip).submit('/signin/email', { email: `${newId('x')}@example.com` })
        const statuses: number[] = []
        for (let i = 0; i < 110; i++) statuses.push((await request(`2001:db8:7:${i.toString(16)}::1`)).status)
        expect(statuses).toEqual([...Array(100).fill(200), ...Array(10).fill(429)])
        expect((await request('2001:db8:8::1')).status).toBe(200)
      })

      test('a mailbox gets a few links at a time, whoever requests them; the reply is the same', async () => {
        const member = await newMember()
        const request = () => newBrowser().submit('/signin/email', { email: member.email })
        const replies = []
        for (let i = 0; i < 8; i++) replies.push(await request())
        expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
        const tokens: string[] = []
        for (let i = 0; i < 5; i++)
          tokens.push(/signin\?token=([\w-]+)/.exec((await inbox.next()).text)?.[1] ?? '')
        await server().gateway.mailer.idle()
        expect(inbox.unread).toBe(0)
        // Those that arrived work, and one that was used can be replaced.
        const browser = newBrowser()
        expect((await browser.submit('/signin', { token: tokens[4] ?? '' })).status).toBe(303)
        await request()
        expect((await inbox.next()).to).toEqual([member.email])
        server().clock.advance(15 * minute)
        await request()
        expect((await inbox.next()).to).toEqual([member.email])
      })

      test('refusals of strangers in the audit log are bounded', async () => {
        server().clock.freeze('2027-01-01T00:00:00Z')
        for (let i = 0; i < 70; i++) await signIn(newBrowser(`203.0.113.${i}`), `${newId('x')}@example.com`)
        const entries = await server()
          .gateway.db.selectFrom('audit_entries')
          .select('seq')
          .where('chain_id', '=', 'installation')
          .where('created_at', '>=', '2027-01-01')
          .execute()
        expect(entries).toHaveLength(60)
      }, 60_000)
    })

    describe('with an authenticator app', () => {
      const setUp = async () => {
        const member = await memberWithPassword()
        const { data } = (await call(member, 'POST', '/account/totp')).body
        expect(data.uri).toContain(`secret=${data.secret}`)
        const secret = decodeBase32(data.secret)
        const codeNow = () => computeTotp(secret, totpStepAt(server().clock.now()))
        const confirmed = await call(member, 'POST', '/account/totp/confirm', { code: codeNow() })
        server().clock.advance(minute)
        return { member, codeNow, codes: confirmed.body.data.codes as string[] }
      }
      const enterPassword = async (browser: Browser, email: string) =>
        inputOf((await signIn(browser, email)).text, 'pending')

      test('the password alone is not enough; a code is accepted once', async () => {
        const { member, codeNow } = await setUp()
        const browser = newBrowser()
        const pending = await enterPassword(browser, member.email)
        expect(browser.isSignedIn).toBe(false)
        expect((await browser.submit('/signin/code', { pending, code: '000000' })).status).toBe(401)
        const code = codeNow()
        expect((await browser.submit('/signin/code', { pending, code })).status).toBe(303)
        expect(browser.isSignedIn).toBe(true)
        const replay = newBrowser()
        const again = await enterPassword(replay, member.email)
        expect((await replay.submit('/signin/code', { pending: again, code })).status).toBe(401)
        server().clock.advance(minute)
        expect((await replay.submit('/signin/code', { pending: again, code: codeNow() })).status).toBe(303)
      })

      test('the link of a mail requires a code too; that of the command line does not', async () => {
        const { member, codeNow } = await setUp()
        const browser = newBrowser()
        await browser.submit('/signin/email', { email: member.email })
        const token = /signin\?token=([\w-]+)/.exec((await inbox.next()).text)?.[1] ?? ''
        const { status, text } = await browser.submit('/signin', { token })
        expect([status, browser.isSignedIn]).toEqual([200, false])
        const pending = inputOf(text, 'pending')
        expect((await browser.submit('/signin/code', { pending, code: codeNow() })).status).toBe(303)
        expect((await call(member, 'GET', '/session')).status).toBe(200)
      })

      test('wrong codes are bounded, whoever sends them; the wait doubles', async () => {
        const { member, codeNow } = await setUp()
        server().clock.freeze(new Date(server().clock.now()).toISOString())
        const pending = await enterPassword(newBrowser(), member.email)
        const enter = (code: string) => newBrowser().submit('/signin/code', { pending, code })
        for (let i = 0; i < 5; i++) expect((await enter('000000')).text).toContain('is wrong')
        expect((await enter(codeNow())).text).toContain('Try again in 30 seconds')
        server().clock.advance(31_000)
        expect((await enter('000000')).text).toContain('is wrong')
        server().clock.advance(31_000)
        expect((await enter(codeNow())).text).toContain('Try again in 29 seconds')
        server().clock.advance(30_000)
        expect((await enter(codeNow())).status).toBe(303)
      })

      test('a recovery code replaces the app once', async () => {
        const { member, codes } = await setUp()
        expect(codes).toHaveLength(10)
        const [code = ''] = codes
        const enter = async () => {
          const browser = newBrowser()
          const pending = await enterPassword(browser, member.email)
          return (await browser.submit('/signin/code', { pending, code: ` ${code.toUpperCase()}` })).status
        }
        expect(await enter()).toBe(303)
        expect(await enter()).toBe(401)
        expect((await call(member, 'GET', '/account')).body.data.recovery_codes_left).toBe(9)
        const { data } = (await call(member, 'POST', '/account/recovery-codes')).body
        expect(data.codes).toHaveLength(10)
        const used = await server()
          .gateway.db.selectFrom('audit_entries')
          .selectAll()
          .where('action', '=', 'recovery_code.use')
          .where('target_id', '=', member.id)
          .execute()
        expect(used).toHaveLength(1)
      })

      test('the step after the password expires, and belongs to its member', async () => {
        const { member, codeNow } = await setUp()
        const browser = newBrowser()
        const pending = await enterPassword(browser, member.email)
        const [, signature = ''] = pending.split('.')
        const forged = Buffer.from(
          JSON.stringify({ userId: server().own.owner.id, method: 'password', expiresAt: 9e15 }),
        ).toString('base64url')
        for (const value of [`${forged}.${signature}`, 'x', '', '.'])
          expect((await browser.submit('/signin/code', { pending: value, code: codeNow() })).status).toBe(403)
        server().clock.advance(5 * minute)
        expect((await browser.submit('/signin/code', { pending, code: codeNow() })).status).toBe(403)
      })

      test('S12 secrets are encrypted or hashed, and not in the audit log', async () => {
        const { member, codes } = await setUp()
        const { db } = server().gateway
        const rows = JSON.stringify([
          await db.selectFrom('member_passwords').selectAll().where('user_id', '=', member.id).execute(),
          await db.selectFrom('member_totp').selectAll().where('user_id', '=', member.id).execute(),
          await db.selectFrom('recovery_codes').selectAll().where('user_id', '=', member.id).execute(),
          await db.selectFrom('audit_entries').selectAll().execute(),
        ])
        expect(rows).toContain('$argon2id$')
        // The recommendation of OWASP.
        expect(installedHashCost).toEqual({ memoryCost: 19_456, timeCost: 2 })
        for (const secret of [password, ...codes, ...codes.map((code) => code.replaceAll('-', ''))])
          expect(rows).not.toContain(secret)
      })
    })

    describe('changing the password', () => {
      test('needs the old one when the sign-in is old; other sessions end', async () => {
        const member = await memberWithPassword()
        const headers = await createSessionHeaders(server(), member)
        const other = await createSessionHeaders(server(), member)
        const change = (body: object) =>
          server().call('PUT', '/account/password', { key: null, headers, body })
        server().clock.advance(16 * minute)
        const next = 'eight gray herons'
        const refused = await change({ password: next })
        expect([refused.status, refused.body.error.param]).toEqual([400, 'current_password'])
        expect((await change({ password: next, current_password: 'a wrong password' })).status).toBe(403)
        expect((await change({ password: next, current_password: password })).status).toBe(200)
        expect((await server().call('GET', '/session', { key: null, headers: other })).status).toBe(401)
        expect((await server().call('GET', '/session', { key: null, headers })).status).toBe(200)
        expect((await signIn(newBrowser(), member.email)).status).toBe(401)
        expect((await signIn(newBrowser(), member.email, next)).status).toBe(303)
        expect((await server().call('DELETE', '/account/totp', { key: null, headers })).status).toBe(403)
        expect((await server().call('DELETE', '/account/password', { key: null, headers })).status).toBe(403)
      })

      test.each([
        ['short', 'short one'],
        ['long', 'ab cd ef '.repeat(15)],
        ['common', 'Password1234!'],
        ['common', 'qwertyuiop123'],
        ['repeated', 'aaaaabbbbbaaaaabbbbb'],
        ['digits', '1234567890123456'],
      ])('a %s password is refused: %s', async (_, refused) => {
        const member = await newMember()
        const { status, body } = await call(member, 'PUT', '/account/password', { password: refused })
        expect([status, body.error.param]).toEqual([400, 'password'])
      })

      test('the own address is refused as a password', async () => {
        const member = await newMember(`long.enough.${newId('m')}@example.com`)
        const { status } = await call(member, 'PUT', '/account/password', { password: member.email })
        expect(status).toBe(400)
      })
    })
  },
  { settings },
)
