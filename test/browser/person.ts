import { expect } from 'bun:test'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createSignInToken } from '../../src/identity/sessions.ts'
import {
  addAuthenticator,
  callFromPage,
  type PageReply,
  siteOf,
  type TestAuthenticator,
  type TestChromium,
} from '../support/chromium.ts'
import type { TestServer } from '../support/harness.ts'
import { useSignInLink } from '../support/sessions.ts'

/** Somebody in front of a browser of their own. */
export class Person {
  readonly page: Page
  readonly authenticator: TestAuthenticator
  readonly #server: TestServer
  readonly #site: string

  private constructor(server: TestServer, page: Page, authenticator: TestAuthenticator) {
    this.page = page
    this.authenticator = authenticator
    this.#server = server
    this.#site = siteOf(server)
  }

  static async arrive(
    server: TestServer,
    chromium: TestChromium,
    options: BrowserContextOptions = {},
  ): Promise<Person> {
    const page = await chromium.openPage(options)
    return new Person(server, page, await addAuthenticator(page))
  }

  async open(path: string): Promise<void> {
    await this.page.goto(this.#site + path)
  }

  /** Waits without `waitForFunction`, which evaluates text in later frames: the policy of the console forbids that. */
  async waitUntilLoaded(): Promise<void> {
    await this.page.getByRole('heading', { level: 1 }).waitFor()
    await this.page.getByLabel('Loading', { exact: true }).first().waitFor({ state: 'detached' })
    // Shortcuts are registered after the first paint.
    await this.page.evaluate('new Promise((done) => requestIdleCallback(done, { timeout: 2000 }))')
  }

  /** Signs in without the pages, for tests of what comes after. */
  async signIn(userId: string): Promise<void> {
    const { db, clock } = this.#server.gateway
    const value = await useSignInLink(this.#server, await createSignInToken(db, clock, userId))
    await this.page.context().addCookies([{ name: 'headgate_session', value: value ?? '', url: this.#site }])
  }

  /** Signs in with the link that the command line prints. */
  async signInWithLink(userId: string): Promise<void> {
    const { db, clock } = this.#server.gateway
    await this.open(`/signin?token=${await createSignInToken(db, clock, userId)}`)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.waitForURL(({ pathname }) => pathname === '/')
  }

  /** Signs in from the sign-in page, by the domain of the address, at the login page of the provider, and back. */
  async signInWithProvider(email: string, provider: string): Promise<void> {
    await this.beginAtProvider(email, provider)
    await this.page.waitForURL(({ pathname }) => pathname === '/')
  }

  async beginAtProvider(email: string, provider: string): Promise<void> {
    await this.open('/signin')
    await this.page.getByLabel('E-mail address').fill(email)
    await this.page.getByRole('button', { name: 'Continue' }).click()
    await this.page.getByRole('link', { name: `Sign in with ${provider}` }).click()
    await this.page.getByPlaceholder('Enter any login').fill(email)
    await this.page.getByPlaceholder('and password').fill('x')
    await this.page.getByRole('button', { name: 'Sign-in' }).click()
  }

  async signInWithPasskey(): Promise<void> {
    await this.clickPasskey()
    await this.page.waitForURL(({ pathname }) => pathname === '/')
  }

  async clickPasskey(): Promise<void> {
    await this.open('/signin')
    await this.page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  }

  /** Registers a passkey, like a page of account settings. */
  async registerPasskey(): Promise<void> {
    const options = await this.change('POST', '/account/passkeys/options')
    const credential = await this.page.evaluate(`(async (options) => {
      const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options)
      return (await navigator.credentials.create({ publicKey })).toJSON()
    })(${JSON.stringify(options.body.data)})`)
    const { status, body } = await this.change('POST', '/account/passkeys', { name: 'Laptop', credential })
    expect([status, body.data?.name]).toEqual([201, 'Laptop'])
  }

  /** The button of the page; where the session came from a provider, its question follows. */
  async signOut(): Promise<void> {
    await this.open('/signin')
    await this.page.getByRole('button', { name: 'Sign out' }).click()
  }

  /** Calls the API with the session, from a page whose policy lets scripts do so. */
  async read(path: string, headers: Record<string, string> = {}): Promise<PageReply> {
    await this.#openOwnPage()
    return callFromPage(this.page, 'GET', path, { headers })
  }

  async change(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<PageReply> {
    const session = await this.read('/session')
    return callFromPage(this.page, method, path, {
      body,
      headers: { 'x-csrf-token': session.body.data?.csrf_token ?? '', ...headers },
    })
  }

  chat(workspace: string): Promise<PageReply> {
    const message = { role: 'user', content: 'Hello' }
    const body = { model: 'sandbox/echo', max_tokens: 50, messages: [message] }
    return this.change('POST', '/chat/completions', body, { 'x-headgate-workspace': workspace })
  }

  /** Each request is 403, and names the permission. */
  async expectRefused(requests: Record<string, string>): Promise<void> {
    for (const [request, permission] of Object.entries(requests)) {
      const [method = '', path = ''] = request.split(' ')
      const isRead = method === 'GET'
      const { status, body } = isRead ? await this.read(path) : await this.change(method, path, {})
      expect([request, status, body.error?.metadata?.permission]).toEqual([request, 403, permission])
    }
  }

  async expectStatus(status: number, ...paths: string[]): Promise<void> {
    for (const path of paths) expect([path, (await this.read(path)).status]).toEqual([path, status])
  }

  async #openOwnPage(): Promise<void> {
    if (this.page.url() !== `${this.#site}/healthz`) await this.open('/healthz')
  }
}
