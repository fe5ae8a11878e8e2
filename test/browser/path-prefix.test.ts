import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createSignInToken } from '../../src/identity/sessions.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'

const prefix = '/tools/gate'

/** A proxy in front of the server: it removes the prefix, and serves nothing else. */
function startProxy(target: string): Bun.Server<undefined> {
  return Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      if (!pathname.startsWith(`${prefix}/`)) return new Response('another app', { status: 404 })
      const response = await fetch(target + pathname.slice(prefix.length) + search, {
        method: request.method,
        headers: request.headers,
        body: request.body,
        redirect: 'manual',
        decompress: false,
      })
      return new Response(response.body, response)
    },
  })
}

describeInChromium('Behind a proxy that adds a path prefix', (chromium) => {
  let server: TestServer
  let proxy: Bun.Server<undefined>
  let site: string
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    proxy = startProxy(server.url)
    site = `http://localhost:${proxy.port}${prefix}`
    Object.assign(server.gateway.settings, { public_url: `${site}/` })
  })
  afterAll(async () => {
    await proxy.stop(true)
    await server.stop()
  })

  const createLink = async () =>
    `${site}/signin?token=${await createSignInToken(server.gateway.db, server.clock, server.own.owner.id)}`

  test('a person signs in by link, lands on the screen that was asked for, and signs out', async () => {
    const page = await chromium().openPage()
    const assets: string[] = []
    page.on('response', (response) => {
      if (response.ok() && response.url().includes('/assets/')) assets.push(new URL(response.url()).pathname)
    })
    await page.goto(`${site}/keys?disabled=true`)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.goto(await createLink())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    expect(page.url()).toBe(`${site}/keys?disabled=true`)
    expect(assets.length).toBeGreaterThan(0)
    expect(assets.filter((path) => !path.startsWith(`${prefix}/assets/`))).toEqual([])
    const cookies = await page.context().cookies()
    expect(cookies.map(({ name, path }) => [name, path])).toEqual([['headgate_session', prefix]])

    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
    await page.goto(`${site}/signin?return_to=%2Fmembers`)
    await page.getByRole('link', { name: 'Continue' }).click()
    await page.waitForURL(`${site}/members`)
    await page.goto(`${site}/signin`)
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    expect(await page.context().cookies()).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('the forms and the script of the sign-in pages lead to the server', async () => {
    const page = await chromium().openPage()
    await page.goto(`${site}/signin`)
    await page.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
    await page.getByLabel('E-mail address').fill('ada@example.com')
    await page.getByRole('button', { name: 'Continue' }).click()
    await page.getByLabel('Password').fill('seven blue herons')
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByText('The address or the password is wrong.').waitFor()
    expect(page.url()).toBe(`${site}/signin/password`)
    await page.getByRole('link', { name: 'Another address' }).click()
    await page.waitForURL(`${site}/signin`)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('the pages and the search of the documentation lead to the server', async () => {
    const page = await chromium().openPage()
    await page.goto(`${site}/docs`)
    await page.getByRole('main').getByRole('link', { name: 'Limits', exact: true }).click()
    await page.waitForURL(`${site}/docs/limits`)
    await page.getByRole('button', { name: 'Copy' }).first().waitFor()
    await page.getByRole('searchbox').fill('passkeys')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Signing in', exact: true }).click()
    await page.waitForURL(`${site}/docs/sign-in`)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a path of another site is not followed', async () => {
    const page = await chromium().openPage()
    await page.goto(`${site}/signin?return_to=${encodeURIComponent('//other.example/x')}`)
    await page.goto(await createLink())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(`${site}/`)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a link to the playground keeps its prompt while the person signs in', async () => {
    const owner = await chromium().openPage()
    await owner.goto(await createLink())
    await owner.getByRole('button', { name: 'Sign in' }).click()
    await owner.waitForURL(`${site}/`)
    await owner.goto(`${site}/playground`)
    await owner.getByLabel('Message', { exact: true }).fill('Why is the sky blue?')
    await owner.getByRole('button', { name: 'Share' }).click()
    const shared = (await owner.locator('pre', { hasText: '/playground#' }).textContent()) ?? ''
    expect(shared).toStartWith(`${site}/playground#`)

    const page = await chromium().openPage()
    await page.goto(shared)
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(page.url()).not.toContain(shared.split('#')[1] ?? '')
    await page.goto(await createLink())
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL(shared)
    await page.getByText('Why is the sky blue?').waitFor()
    expect(await page.evaluate(() => localStorage.getItem('headgate-fragment'))).toBeNull()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('links in replies have the prefix, and an invitation can be accepted', async () => {
    const { status, body } = await server.call('POST', '/organization/invitations', {
      body: { email: 'grace@example.com' },
    })
    expect([status, body.url.split('?')[0]]).toEqual([201, `${site}/invitation`])
    const page = await chromium().openPage()
    await page.goto(body.url)
    await page.getByRole('button', { name: 'Accept the invitation' }).click()
    await page.waitForURL(`${site}/`)
    const feed = await fetch(`${server.url}/api/v1/models?use_rss=true`, {
      headers: { authorization: `Bearer ${server.own.inferenceKey}` },
    })
    expect(await feed.text()).toContain(`<link>${site}</link>`)
  })
})
