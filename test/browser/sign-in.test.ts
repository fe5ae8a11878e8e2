import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createMember, type Member } from '../../src/identity/members.ts'
import { newId } from '../../src/platform/crypto/ids.ts'
import { computeTotp, totpStepAt } from '../../src/platform/crypto/totp.ts'
import { decodeBase32 } from '../support/base32.ts'
import { describeInChromium, siteOf } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { type Inbox, startMailServer } from '../support/mail-server.ts'
import { startOidcProvider, type TestProvider } from '../support/oidc-provider.ts'
import { createSessionHeaders } from '../support/sessions.ts'
import { connectProvider } from '../support/sso.ts'
import { Person } from './person.ts'

const password = 'seven blue herons'
const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 } }

describeInChromium('Sign-in pages', (chromium) => {
  let inbox: Inbox
  let server: TestServer
  let provider: TestProvider
  let site: string
  /** An app that asks for a key, at another host than the server. */
  let app: Bun.Server<undefined>
  beforeAll(async () => {
    inbox = await startMailServer()
    const smtp = `{ host: 127.0.0.1, port: ${inbox.port}, tls: none, from: gate@example.com }`
    const settings = `public_url: http://localhost\nsmtp: ${smtp}\n`
    server = await startTestServer('sqlite', { settings })
    site = siteOf(server)
    // The port is known only now.
    Object.assign(server.gateway.settings, { public_url: site })
    provider = await startOidcProvider(site)
    const fetchPage = ({ url }: Request) => new Response(`Received ${new URL(url).search}`)
    app = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: fetchPage })
  })
  afterAll(async () => {
    await app.stop(true)
    await provider.stop()
    await server.stop()
    await inbox.close()
  })

  const createPerson = () => {
    const email = `${newId('m')}@mail.test`
    const organizationId = server.own.organization.id
    return createMember(server.gateway.db, server.clock, { organizationId, email, role: 'org:member' })
  }
  const callAs = async (member: Member, method: string, path: string, body?: unknown) => {
    const headers = await createSessionHeaders(server, member)
    const response = await server.call(method, path, {
      key: null,
      headers,
      ...(body !== undefined && { body }),
    })
    expect(response.status).toBeLessThan(300)
    return response.body.data
  }
  const createPersonWithPassword = async () => {
    const member = await createPerson()
    await callAs(member, 'PUT', '/account/password', { password })
    return member
  }
  /** Returns the present code of the app. */
  const addAuthenticatorApp = async (member: Member) => {
    const { secret } = await callAs(member, 'POST', '/account/totp')
    const codeAt = (ms: number) => computeTotp(decodeBase32(secret), totpStepAt(ms))
    await callAs(member, 'POST', '/account/totp/confirm', { code: codeAt(server.clock.now()) })
    // A code is accepted once.
    server.clock.advance(30_000)
    return () => codeAt(server.clock.now())
  }
  const enterAddress = async (page: Page, email: string) => {
    await page.getByLabel('E-mail address').fill(email)
    await page.getByRole('button', { name: 'Continue' }).click()
  }
  const enterPassword = async (page: Page, text = password) => {
    await page.getByLabel('Password').fill(text)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  const heading = (page: Page, name: string | RegExp) =>
    page.getByRole('heading', { level: 1, name }).waitFor()
  /** A page that is wider than the window scrolls sideways. */
  const expectFits = async (page: Page) =>
    expect([page.url(), await page.evaluate('document.documentElement.scrollWidth')]).toEqual([
      page.url(),
      390,
    ])
  const expectSignedIn = async (page: Page, { email }: Member) => {
    await page.waitForURL(`${site}/`)
    await page.goto(`${site}/signin`)
    await page.getByText(email).waitFor()
  }
  const expectNoProblems = async () => expect(await chromium().takeProblems()).toEqual([])

  test.each([
    ['with scripts', true],
    ['without scripts', false],
  ])('a password and a code, on a phone, %s', async (_, javaScriptEnabled) => {
    const member = await createPersonWithPassword()
    const currentCode = await addAuthenticatorApp(member)
    const page = await chromium().openPage({ ...phone, javaScriptEnabled })
    await page.goto(`${site}/signin`)
    expect(await page.getByRole('button', { name: 'passkey' }).isVisible()).toBe(javaScriptEnabled)
    await expectFits(page)
    await enterAddress(page, member.email)
    await page.getByText(member.email).waitFor()
    await expectFits(page)
    await enterPassword(page, 'a wrong password')
    await page.getByText('The address or the password is wrong.').waitFor()
    await expectFits(page)
    await enterPassword(page)
    await heading(page, 'Enter your code')
    await expectFits(page)
    await page.getByLabel('The code of your authenticator app').fill('000000')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The code is wrong').waitFor()
    await page.getByLabel('The code of your authenticator app').fill(currentCode())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expectSignedIn(page, member)
    await expectFits(page)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await heading(page, 'You are signed out')
    await expectFits(page)
    await expectNoProblems()
  })

  test('a link by mail, which works once', async () => {
    const member = await createPerson()
    const page = await chromium().openPage(phone)
    await page.goto(`${site}/signin`)
    await enterAddress(page, member.email)
    await page.getByRole('button', { name: 'Send me a sign-in link' }).click()
    await heading(page, 'Check your mail')
    await expectFits(page)
    const link = /http:\S+/.exec((await inbox.next()).text)?.[0] ?? ''
    expect(link).toStartWith(`${site}/signin?token=`)
    await page.goto(link)
    await heading(page, 'Sign in to Headgate')
    await expectFits(page)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await expectSignedIn(page, member)
    await page.goto(link)
    await heading(page, /invalid or expired/)
    await expectFits(page)
    await expectNoProblems()
  })

  test('an invitation', async () => {
    const email = `${newId('guest')}@mail.test`
    await server.call('POST', '/organization/invitations', { body: { email } })
    const link = /http:\S+/.exec((await inbox.next()).text)?.[0] ?? ''
    const { pathname, search } = new URL(link)
    const page = await chromium().openPage({ ...phone, javaScriptEnabled: false })
    await page.goto(site + pathname + search)
    await heading(page, /^Join /)
    await expectFits(page)
    await page.getByLabel('First name').fill('Ada')
    await page.getByRole('button', { name: 'Accept the invitation' }).click()
    await page.waitForURL(`${site}/`)
    await page.goto(site + pathname + search)
    await heading(page, /invalid or expired/)
    await expectFits(page)
    await expectNoProblems()
  })

  test.each([
    ['Approve', /^\?code=/],
    ['Deny', /^\?error=access_denied$/],
  ])('the consent page waits for the sign-in, and returns to the app: %s', async (button, result) => {
    const member = await createPersonWithPassword()
    const page = await chromium().openPage(phone)
    const callback = `http://127.0.0.1:${app.port}/callback`
    await page.goto(`${site}/auth?callback_url=${encodeURIComponent(callback)}`)
    await enterAddress(page, member.email)
    await enterPassword(page)
    await heading(page, /^Authorize /)
    await expectFits(page)
    await page.getByRole('button', { name: button }).click()
    await page.waitForURL(`${callback}*`)
    expect(new URL(page.url()).search).toMatch(result)
    await expectNoProblems()
  })

  test('the consent page of an app without a website shows the code', async () => {
    const member = await createPersonWithPassword()
    const person = await Person.arrive(server, chromium(), phone)
    await person.signInWithLink(member.id)
    await person.open(
      '/auth?code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256',
    )
    await expectFits(person.page)
    await person.page.getByRole('button', { name: 'Approve' }).click()
    await heading(person.page, /code/i)
    await expectFits(person.page)
    await expectNoProblems()
  })

  test.each([
    ['//other.example', '/'],
    ['/\\other.example', '/'],
    ['https://other.example/', '/'],
    ['/reference?q=keys', '/reference?q=keys'],
  ])('a password with return_to=%s leads to %s', async (path, expected) => {
    const member = await createPersonWithPassword()
    const page = await chromium().openPage(phone)
    await page.goto(`${site}/signin?return_to=${encodeURIComponent(path)}`)
    await enterAddress(page, member.email)
    await enterPassword(page)
    await page.waitForURL(site + expected)
    await expectNoProblems()
  })

  test('single sign-on returns to a path of this server only', async () => {
    const { connectionId } = await connectProvider(server, provider, { connection: { jit: true } })
    provider.accounts.set('ada', { email: 'ada@example.com', email_verified: true })
    for (const [path, expected] of [
      ['//other.example', '/'],
      ['/\\other.example', '/'],
      ['/.//other.example', '/'],
      ['https://other.example/', '/'],
      ['/signin', '/signin'],
    ] as const) {
      const page = await chromium().openPage(phone)
      await page
        .context()
        .addCookies([{ name: 'headgate_return', value: '//other.example', url: `${site}/signin` }])
      await page.goto(`${site}/signin/oidc/${connectionId}?return_to=${encodeURIComponent(path)}`)
      await page.getByPlaceholder('Enter any login').fill('ada')
      await page.getByPlaceholder('and password').fill('x')
      await page.getByRole('button', { name: 'Sign-in' }).click()
      await page.waitForURL(site + expected)
    }
    const page = await chromium().openPage(phone)
    await page.goto(`${site}/signin/oidc/unknown`)
    await heading(page, 'Something went wrong')
    await expectFits(page)
    await expectNoProblems()
  })

  describe('the passkey button', () => {
    const openWithPasskey = async () => {
      const member = await createPerson()
      const person = await Person.arrive(server, chromium(), phone)
      await person.signInWithLink(member.id)
      await person.registerPasskey()
      await person.signOut()
      await heading(person.page, 'You are signed out')
      await person.open('/signin')
      return {
        member,
        person,
        page: person.page,
        button: person.page.getByRole('button', { name: 'passkey' }),
      }
    }
    const problemOf = async (page: Page) => {
      const alert = page.getByRole('alert')
      await alert.waitFor()
      return alert.innerText()
    }

    test('also works after the address was entered', async () => {
      const { member, page, button } = await openWithPasskey()
      await enterAddress(page, member.email)
      await page.getByLabel('Password').waitFor()
      await button.click()
      await expectSignedIn(page, member)
      await expectNoProblems()
    })

    test('returns to the consent page', async () => {
      const { person, page, button } = await openWithPasskey()
      const callback = encodeURIComponent(`http://127.0.0.1:${app.port}/callback`)
      await person.open(`/auth?callback_url=${callback}`)
      await button.click()
      await heading(page, /^Authorize /)
      await expectNoProblems()
    })

    test('says that no passkey was chosen, and works again', async () => {
      const { member, person, page, button } = await openWithPasskey()
      await person.authenticator.setVerified(false)
      await button.click()
      expect(await problemOf(page)).toBe('No passkey was chosen.')
      await person.authenticator.setVerified(true)
      await button.click()
      await expectSignedIn(page, member)
      await expectNoProblems()
    })

    test('cannot be pressed twice', async () => {
      const { member, page, button } = await openWithPasskey()
      const held = Promise.withResolvers<void>()
      await page.route('**/signin/passkey/options', async (route) => {
        await held.promise
        await route.continue()
      })
      await button.click()
      expect(await button.isDisabled()).toBe(true)
      held.resolve()
      await expectSignedIn(page, member)
      await expectNoProblems()
    })

    test.each<[string, { status: number; body: string; contentType: string } | 'offline']>([
      [
        'an error of the server',
        { status: 500, body: '{"error":{"code":500}}', contentType: 'application/json' },
      ],
      ['the page of a proxy', { status: 502, body: '<h1>Bad gateway</h1>', contentType: 'text/html' }],
      ['no connection', 'offline'],
    ])('explains %s in a sentence', async (_, failure) => {
      const { page, button } = await openWithPasskey()
      await page.route('**/signin/passkey/options', (route) =>
        failure === 'offline' ? route.abort('internetdisconnected') : route.fulfill(failure),
      )
      await button.click()
      expect(await problemOf(page)).toBe('The server did not reply as expected. Try again.')
      expect(await button.isEnabled()).toBe(true)
      await chromium().takeProblems()
    })
  })
})
