// Writes pictures of the console with seeded data to docs/images. Run it with `npm run screenshots`.
import { mkdirSync } from 'node:fs'
import type { BrowserContextOptions } from 'playwright-core'
import { Visitor } from '../../test/browser/visitor.ts'
import { TestChromium } from '../../test/support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../../test/support/harness.ts'
import { startUpstream } from '../../test/support/upstream.ts'
import { formatSettings, playVendors, seedOrganization } from './seed.ts'

const folder = 'docs/images'
const now = Date.parse('2026-11-16T15:00:00Z')
const wide = { viewport: { width: 1280, height: 800 } }
const phone = { viewport: { width: 390, height: 844 } }

interface Picture {
  name: string
  path: string
  view?: BrowserContextOptions
  /** The part that is shown, if more than the window. */
  height?: number
}

mkdirSync(folder, { recursive: true })
const upstream = await startUpstream()
playVendors(upstream)
const server = await startTestServer('sqlite', { settings: formatSettings(upstream.url) })
const chromium = await TestChromium.launch()
await take(server, chromium, { name: 'get-started', path: '/' })
const { failedOver, refused } = await seedOrganization(server, upstream, now)
const pictures: Picture[] = [
  { name: 'requests', path: '/requests' },
  { name: 'request', path: `/requests/${failedOver}`, height: 1_760 },
  { name: 'refused', path: `/requests/${refused}`, height: 1_000 },
  { name: 'activity-dark', path: '/activity?period=week', view: { ...wide, colorScheme: 'dark' } },
  { name: 'keys', path: '/keys' },
  { name: 'models', path: '/catalogue' },
  { name: 'phone', path: '/requests', view: phone },
]
for (const picture of pictures) await take(server, chromium, picture)
const problems = await chromium.takeProblems()
await chromium.close()
await server.stop()
await upstream.stop()
process.stdout.write(problems.map((problem) => `${problem}\n`).join(''))
process.exit(problems.length > 0 ? 1 : 0)

async function take(
  server: TestServer,
  browser: TestChromium,
  { name, path, view = wide, height }: Picture,
): Promise<void> {
  server.clock.freeze(new Date(now).toISOString())
  const session = await createSessionCaller(server, { role: 'org:admin' })
  const visitor = await Visitor.arrive(server, browser, session, {
    ...view,
    timezoneId: 'UTC',
    locale: 'en-US',
  })
  await visitor.page.clock.setFixedTime(now)
  if (height) await visitor.page.setViewportSize({ width: view.viewport?.width ?? 1280, height })
  const { problems } = await visitor.visit(path)
  if (problems.length > 0) throw new Error(`${path}: ${problems.join(', ')}`)
  await visitor.page.screenshot({ path: `${folder}/${name}.png` })
  await visitor.close()
  process.stdout.write(`${folder}/${name}.png\n`)
}
