import { afterAll, beforeAll, describe } from 'bun:test'
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Page,
} from 'playwright-core'
import type { TestServer } from './harness.ts'

/** Set by the test runner, which installs Chromium. It fails in CI when it cannot. */
export const chromiumPath = process.env.TEST_CHROMIUM ?? null

/** The only hosts that pages can reach. */
const ownHosts = ['localhost', '127.0.0.1']

/**
 * Address for requests to all other names and addresses: a port of loopback that nothing listens on. Not `~NOTFOUND`:
 * after an error of name resolution Chromium asks public name servers whether there is a network.
 */
const closedPort = '127.0.0.1:9'

const launchOptions = [
  '--in-process-gpu',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--no-proxy-server',
  `--host-resolver-rules=MAP * ${closedPort}${ownHosts.map((host) => `, EXCLUDE ${host}`).join('')}`,
]

/** Maximum wait for what a page should show, on a busy machine. */
const waitMs = 20_000

/** Chromium says this of every status from 400; tests check statuses themselves. */
const statusMessage = /^Failed to load resource: the server responded with a status of/

/** One for all test files of a process, with which it ends. */
let launched: Promise<Browser> | undefined

/** Chromium without a window. Every visitor has a profile of its own. */
export class TestChromium {
  readonly #browser: Browser
  readonly #contexts = new Set<BrowserContext>()
  readonly #problems: string[] = []

  private constructor(browser: Browser) {
    this.#browser = browser
  }

  static async open(): Promise<TestChromium> {
    if (chromiumPath === null) throw new Error('TEST_CHROMIUM is not set')
    launched ??= chromium.launch({ executablePath: chromiumPath, args: launchOptions })
    return new TestChromium(await launched)
  }

  /** A page of a new visitor, who has no cookies. */
  async openPage(options: BrowserContextOptions = {}): Promise<Page> {
    // Without animations, which take time and CPU.
    const context = await this.#browser.newContext({ reducedMotion: 'reduce', ...options })
    this.#contexts.add(context)
    context.on('close', () => this.#contexts.delete(context))
    context.setDefaultTimeout(waitMs)
    const report = (problem: string, page: Page | null) =>
      void this.#problems.push(`${page?.url() ?? 'a page that was closed'}: ${problem}`)
    context.on('console', (message) => {
      const text = message.text()
      if (message.type() === 'error' && !statusMessage.test(text)) report(text, message.page())
    })
    context.on('weberror', (error) => report(error.error().message, error.page()))
    context.on('request', (request) => {
      if (!isOwnHost(request.url())) report(`requested ${request.url()}`, null)
    })
    return context.newPage()
  }

  /**
   * Takes the problems since the last call: errors of the console, which include violations of the content security
   * policy, uncaught errors, and requests to other hosts.
   */
  async takeProblems(): Promise<string[]> {
    // Events of a page arrive before the reply to this.
    const pages = [...this.#contexts].flatMap((context) => context.pages())
    await Promise.all(pages.map((page) => page.title()))
    return this.#problems.splice(0)
  }

  /** Closes its pages. */
  async close(): Promise<void> {
    await Promise.all([...this.#contexts].map((context) => context.close()))
  }
}

function isOwnHost(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return ['data:', 'blob:', 'about:'].includes(protocol) || ownHosts.includes(hostname)
}

/** Ends the browser, in a script that ends by itself. */
export async function closeBrowser(): Promise<void> {
  await (await launched)?.close()
}

/** Tests with the browser; skipped where Chromium is not available. */
export function describeInChromium(name: string, tests: (chromium: () => TestChromium) => void): void {
  describe.skipIf(chromiumPath === null)(name, () => {
    let opened: TestChromium
    beforeAll(async () => {
      opened = await TestChromium.open()
    })
    afterAll(() => opened?.close())
    tests(() => opened)
  })
}

/** The address of the server for a browser: passkeys need a name, and without https only this one is accepted. */
export function siteOf({ url }: Pick<TestServer, 'url'>): string {
  return url.replace('127.0.0.1', 'localhost')
}

/** The authenticator of the device that a page is shown on. */
export interface TestAuthenticator {
  /** Whether the person proves who they are, such as with a fingerprint. */
  setVerified(isVerified: boolean): Promise<void>
}

export async function addAuthenticator(page: Page): Promise<TestAuthenticator> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    setVerified: async (isUserVerified) => {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    },
  }
}

export interface PageReply {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: responses of every shape
  body: any
}

/** Calls the API with `fetch` of the page. */
export function callFromPage(
  page: Page,
  method: string,
  path: string,
  { body, headers = {} }: { body?: unknown; headers?: Record<string, string> } = {},
): Promise<PageReply> {
  return page.evaluate(
    async ({ url, init }) => {
      const response = await fetch(url, init)
      return { status: response.status, body: await response.json() }
    },
    {
      url: `/api/v1${path}`,
      init: {
        method,
        headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      },
    },
  )
}
