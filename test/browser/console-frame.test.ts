import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const small = { viewport: { width: 1280, height: 800 } }

describeInChromium('The frame of the console', (chromium) => {
  let server: TestServer
  let person: Person
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterEach(() => person.page.context().close())
  afterAll(() => server.stop())

  const arrive = async (options = {}) => {
    person = await Person.arrive(server, chromium(), { ...small, ...options })
    await person.signIn(server.own.owner.id)
    return person.page
  }
  const menu = () => person.page.getByRole('navigation', { name: 'Screens' })

  test('the menu shows every screen of an owner in a window of 800 pixels', async () => {
    const page = await arrive()
    await person.open('/keys')
    const last = menu().getByRole('link', { name: 'System' })
    await last.waitFor()
    expect(await menu().getByRole('link').count()).toBeGreaterThan(20)
    const box = await last.boundingBox()
    expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(800)
    const heights = (await page.evaluate(
      `[...document.querySelectorAll('nav a')].map((link) => link.offsetHeight).filter((height) => height > 0)`,
    )) as number[]
    expect(Math.max(...heights)).toBeLessThanOrEqual(32)
    expect(Math.min(...heights)).toBeGreaterThanOrEqual(24)
  })

  test('a collapsed menu has icons with names, and stays collapsed', async () => {
    const page = await arrive()
    await person.open('/keys')
    await page.getByRole('button', { name: 'Collapse the menu' }).click()
    await page.getByRole('button', { name: 'Expand the menu' }).waitFor()
    await page.reload()
    await menu().getByRole('link', { name: 'Members', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Members' }).waitFor()
    expect((await menu().boundingBox())?.width).toBeLessThan(60)
  })

  test('the first stop of the keyboard leads to the content', async () => {
    const page = await arrive()
    await person.open('/keys')
    await person.waitUntilLoaded()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    expect(await page.evaluate('document.activeElement?.tagName')).toBe('MAIN')
  })

  test.each([
    ['/catalogue?q=echo', '/models', 'Models'],
    ['/catalogue/edits', '/models/changes', 'Catalog changes'],
    ['/catalogue/sandbox/echo', '/models/sandbox/echo', 'Echo (simulated)'],
    ['/destinations', '/observability', 'Observability'],
    ['/settings', '/organization', 'Organization'],
  ])('the earlier path %s leads to %s', async (from, to, name) => {
    const page = await arrive()
    await person.open(from)
    await page.getByRole('heading', { level: 1, name }).waitFor()
    expect(new URL(page.url()).pathname).toBe(to)
    // What follows the path is kept.
    if (from.includes('?')) expect(new URL(page.url()).search).toContain('q=echo')
    // The address can be opened by itself, though `/models` is also a path of the API.
    await page.reload()
    await page.getByRole('heading', { level: 1, name }).waitFor()
  })

  test('the font, the logo and the icon of the tab come from this server', async () => {
    const page = await arrive()
    await person.open('/keys')
    await person.waitUntilLoaded()
    expect(await page.evaluate(`document.fonts.check("14px 'Inter Variable'")`)).toBe(true)
    expect(await page.evaluate(`document.querySelector('link[rel=icon]').href`)).toStartWith('data:image/svg')
    expect(await chromium().takeProblems()).toEqual([])
  })
})
