// Writes pictures of the console with seeded data: chosen ones to docs/images, every screen to .cache/screens. Run it
// with `npm run screenshots`.
import { mkdirSync } from 'node:fs'
import type { BrowserContextOptions, Page, Route } from 'playwright-core'
import { startSession } from '../../src/identity/sessions.ts'
import { Visitor } from '../../test/browser/visitor.ts'
import { closeBrowser, TestChromium } from '../../test/support/chromium.ts'
import { startTestServer, type TestServer } from '../../test/support/harness.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { takeEveryScreen } from './every-screen.ts'
import { formatSettings, playVendors, seedOrganization } from './seed.ts'
import { preset, routedRequests } from './story.ts'

const folder = 'docs/images'
const now = Date.parse('2026-11-16T15:00:00Z')
const wide = { viewport: { width: 1280, height: 800 } }
/** Height of the header with some space below it. */
const headerHeight = 64
const phone = { viewport: { width: 390, height: 844 } }

interface Picture {
  name: string
  path: string
  view?: BrowserContextOptions
  /** The part that is shown, if not the window. */
  height?: number
  /** Prepares the page before the picture is taken. */
  prepare?: (page: Page) => Promise<void>
}

mkdirSync(folder, { recursive: true })
const upstream = await startUpstream()
playVendors(upstream)
const server = await startTestServer('sqlite', { settings: formatSettings(upstream.url) })
const chromium = await TestChromium.open()
await take(server, chromium, { name: 'get-started', path: '/' })
const { failedOver, refused, comparisonId } = await seedOrganization(server, upstream, now)
const pictures: Picture[] = [
  { name: 'home', path: '/', height: 1_100 },
  { name: 'requests', path: '/requests' },
  { name: 'request', path: `/requests/${failedOver}`, height: 1_760 },
  { name: 'refused', path: `/requests/${refused}`, height: 1_000 },
  { name: 'activity-dark', path: '/activity?period=week', view: { ...wide, colorScheme: 'dark' } },
  { name: 'keys', path: '/keys' },
  { name: 'models', path: '/models' },
  { name: 'providers', path: '/providers', height: 560 },
  { name: 'budgets', path: '/budgets', height: 900, prepare: openBudgets },
  { name: 'preset', path: `/presets/${preset.slug}`, prepare: (page) => scrollTo(page, 'Versions') },
  { name: 'routing', path: '/routing', height: 1_020, prepare: compareRouting },
  { name: 'comparison', path: `/comparisons/${comparisonId}`, height: 800, prepare: waitForMarkdown },
  { name: 'system', path: '/system', height: 670 },
  { name: 'phone', path: '/requests', view: phone },
]
for (const picture of pictures) await take(server, chromium, picture)
const links = [`/requests/${failedOver}`, `/comparisons/${comparisonId}`]
const problems = [
  ...(await takeEveryScreen(server, (view) => arrive(server, chromium, view), links)),
  ...(await chromium.takeProblems()),
]
await closeBrowser()
await server.stop()
await upstream.stop()
process.stdout.write(problems.map((problem) => `${problem}\n`).join(''))
process.exit(problems.length > 0 ? 1 : 0)

async function take(
  server: TestServer,
  browser: TestChromium,
  { name, path, view = wide, height, prepare }: Picture,
): Promise<void> {
  const visitor = await arrive(server, browser, view)
  if (height) await visitor.page.setViewportSize({ width: view.viewport?.width ?? 1280, height })
  const { problems } = await visitor.visit(path)
  if (problems.length > 0) throw new Error(`${path}: ${problems.join(', ')}`)
  if (prepare) {
    await prepare(visitor.page)
    await visitor.settle()
  }
  await visitor.page.screenshot({ path: `${folder}/${name}.png` })
  await visitor.close()
  process.stdout.write(`${folder}/${name}.png\n`)
}

/** The owner of the organization, at the time of the pictures. */
async function arrive(
  server: TestServer,
  browser: TestChromium,
  view: BrowserContextOptions,
): Promise<Visitor> {
  server.clock.freeze(new Date(now).toISOString())
  const { gateway, own } = server
  const owner = { userId: own.owner.id, method: 'link' as const, ip: null, userAgent: null }
  const session = await startSession(gateway.db, gateway, owner)
  const visitor = await Visitor.arrive(server, browser, session, {
    ...view,
    timezoneId: 'UTC',
    locale: 'en-US',
  })
  await visitor.page.clock.setFixedTime(now)
  await visitor.page.route('**/api/v1/system', replaceStart)
  return visitor
}

/** The keys of the person who has created them. */
async function openBudgets(page: Page): Promise<void> {
  for (const name of [/^members of Default/, /^keys of Maya/i])
    await page.getByRole('button', { name }).click()
  await page.evaluate('scrollTo(0, 0)')
}

/** The server is younger than what it is shown with. */
async function replaceStart(route: Route): Promise<void> {
  const response = await route.fetch()
  const { data } = await response.json()
  data.node.started_at = new Date(now - 9 * 24 * 3_600_000).toISOString()
  await route.fulfill({ response, json: { data } })
}

/** Its code is loaded later. */
async function waitForMarkdown(page: Page): Promise<void> {
  await page.locator('main strong').first().waitFor()
}

async function scrollTo(page: Page, region: string): Promise<void> {
  const box = await page.getByRole('region', { name: region, exact: true }).boundingBox()
  await page.mouse.wheel(0, (box?.y ?? 0) - headerHeight)
}

async function compareRouting(page: Page): Promise<void> {
  await page.evaluate(
    ([key = '', value = '']) => localStorage.setItem(key, value),
    ['headgate-routing-requests', JSON.stringify(routedRequests)],
  )
  await page.reload()
  await page.getByRole('combobox', { name: 'Exclude providers' }).fill('anthropic')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Compare before and after' }).click()
  await page.getByText(/would change/).waitFor()
  await scrollTo(page, 'The change')
}
