import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { BrowserContextOptions } from 'playwright-core'
import { describeInChromium, siteOf } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

const phone: BrowserContextOptions = { viewport: { width: 390, height: 844 } }

describeInChromium('The documentation', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test.each(['light', 'dark'] as const)('a page has no problem that axe knows (%s)', async (colorScheme) => {
    const page = await chromium().openPage({ colorScheme })
    await page.goto(`${siteOf(server)}/docs/limits`)
    await page.getByRole('heading', { level: 1, name: 'Limits' }).waitFor()
    await page.getByRole('button', { name: 'Copy' }).first().waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    for (const path of ['/docs', '/docs/containers', '/docs?q=limits']) {
      await page.goto(siteOf(server) + path)
      expect(await inspectWithAxe(page), path).toEqual([])
    }
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('on a phone, a person searches, opens a section, and goes on with the list of pages', async () => {
    const page = await chromium().openPage(phone)
    await page.goto(`${siteOf(server)}/docs`)
    await page.getByRole('searchbox').fill('wrong password')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Signing in: Guessing' }).click()
    await page.waitForURL(/\/docs\/sign-in#guessing$/)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    await page.getByRole('link', { name: 'Pages', exact: true }).click()
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Audit log' }).click()
    await page.getByRole('heading', { level: 1, name: 'Audit log' }).waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a screen of the console leads to its page, and the account menu to all of them', async () => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    await person.open('/limits')
    await person.waitUntilLoaded()
    const context = person.page.context()
    const [opened] = await Promise.all([
      context.waitForEvent('page'),
      person.page.getByRole('link', { name: 'Docs' }).click(),
    ])
    await opened.getByRole('heading', { level: 1, name: 'Limits' }).waitFor()
    expect(opened.url()).toBe(`${siteOf(server)}/docs/limits`)
    await person.page.getByRole('button', { name: 'Account' }).click()
    const [first] = await Promise.all([
      context.waitForEvent('page'),
      person.page.getByRole('menuitem', { name: 'Documentation' }).click(),
    ])
    await first.getByRole('heading', { level: 1, name: 'Documentation' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })
})
