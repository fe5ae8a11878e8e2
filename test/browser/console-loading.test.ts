import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test'
import { brotliCompressSync } from 'node:zlib'
import { describeInChromium, siteOf } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const maxScriptBytes = 200_000
/** What a line of 400 kbit/s carries in the time after which the first screen can be used. */
const maxBytes = (400_000 / 8) * 5
/** Round trips, the session and the data of the screen. */
const reservedBytes = 15_000

describeInChromium('The first screen of the console', (chromium) => {
  let server: TestServer
  let person: Person
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterEach(() => person?.page.context().close())
  afterAll(() => server.stop())

  const arrive = async (options = {}) => {
    person = await Person.arrive(server, chromium(), options)
    await person.signIn(server.own.owner.id)
    return person.page
  }

  const sizeOf = async (name: string) => {
    const response = await fetch(`${server.url}/assets/${name}`, { headers: { 'accept-encoding': 'br' } })
    expect(response.status).toBe(200)
    const plain = new Uint8Array(await response.arrayBuffer())
    const length = Number(response.headers.get('content-length'))
    // Small files are not compressed.
    return Number.isInteger(length) && length > 0 ? length : plain.length
  }

  test('is small enough for a slow line', async () => {
    const page = await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })
    const text = await page.text()
    const find = (pattern: RegExp) => [...text.matchAll(pattern)].map(([, name]) => name ?? '')
    const [script = ''] = find(/<script type="module" src="assets\/([^"]+)"/g)
    const rest = find(/<link rel="(?:stylesheet|modulepreload)" href="assets\/([^"]+)"/g)
    expect(rest.length).toBeGreaterThan(1)
    const scriptBytes = await sizeOf(script)
    expect(scriptBytes).toBeGreaterThan(50_000)
    expect(scriptBytes).toBeLessThanOrEqual(maxScriptBytes)
    const sizes = await Promise.all(rest.map(sizeOf))
    const total = sizes.reduce((sum, size) => sum + size, scriptBytes + brotliCompressSync(text).length)
    expect(total).toBeLessThanOrEqual(maxBytes - reservedBytes)
  })

  test('loads nothing that the page has not named, but what is shown later', async () => {
    const page = await arrive()
    const loaded: string[] = []
    page.on('request', (request) => void loaded.push(new URL(request.url()).pathname))
    await person.open('/')
    await person.waitUntilLoaded()
    const text = await (await fetch(`${server.url}/`, { headers: { accept: 'text/html' } })).text()
    const scripts = loaded.filter((path) => /^\/assets\/.*\.js$/.test(path))
    const unnamed = scripts.filter((path) => !text.includes(path.slice(1)))
    expect(unnamed.filter((path) => !/\/notices-/.test(path))).toEqual([])
  })

  test.each(['light', 'dark'] as const)(
    'shows its frame before the script and the styles arrive, in %s',
    async (colorScheme) => {
      const page = await arrive({ colorScheme })
      const release = Promise.withResolvers<void>()
      await page.route(/\/assets\/.*\.(js|css)$/, async (route) => {
        await release.promise
        await route.continue()
      })
      await page.goto(siteOf(server), { waitUntil: 'commit' })
      const frame = page.getByRole('status', { name: 'The console is loading' })
      await frame.waitFor()
      expect(await frame.getByText('Headgate').isVisible()).toBe(true)
      const background = await page.evaluate(
        `getComputedStyle(document.querySelector('#shell')).backgroundColor`,
      )
      release.resolve()
      await person.waitUntilLoaded()
      await frame.waitFor({ state: 'hidden' })
      expect(await page.evaluate('getComputedStyle(document.body).backgroundColor')).toBe(background)
      expect(await chromium().takeProblems()).toEqual([])
    },
  )

  test('the frame has the places of the real one, on a wide screen and a phone', async () => {
    for (const viewport of [
      { width: 1280, height: 800 },
      { width: 390, height: 800 },
    ]) {
      const page = await arrive({ viewport })
      await person.open('/')
      await person.waitUntilLoaded()
      const boxes = `(() => {
        const box = (selector) => { const { x, width, height } = document.querySelector(selector).getBoundingClientRect(); return [x, Math.round(width), Math.round(height)] }
        document.body.insertAdjacentHTML('beforeend', '<style>body #shell{display:grid !important}</style>')
        return { real: box('.mantine-AppShell-header'), early: box('#shell header') }
      })()`
      const { real, early } = (await page.evaluate(boxes)) as { real: number[]; early: number[] }
      expect(early).toEqual(real)
      await page.context().close()
    }
  })

  test('search says so when it cannot be loaded, and works later', async () => {
    const page = await arrive()
    await person.open('/keys')
    await person.waitUntilLoaded()
    await page.route(/search-dialog-/, (route) => route.abort())
    await page.keyboard.press('/')
    await page.getByText('Search could not be loaded').waitFor()
    await page.unroute(/search-dialog-/)
    await page.reload()
    await person.waitUntilLoaded()
    await page.keyboard.press('/')
    await page.getByRole('dialog').getByRole('textbox').fill('memb')
    await page.getByRole('button', { name: 'Members' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    // The second time it is there already.
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').getByRole('textbox').waitFor()
  })
})
