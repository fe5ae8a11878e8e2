import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

const hourMs = 3_600_000

describeInChromium('The histogram of requests', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    for (const content of ['One', 'Two sandbox:error=500'])
      await server.call('POST', '/chat/completions', {
        key: server.own.inferenceKey,
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
      })
  })
  afterAll(() => server.stop())

  const arrive = async (path: string) => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    await person.open(path)
    await person.waitUntilLoaded()
    const { page } = person
    return { page, area: page.getByRole('group', { name: /^Zoom: / }) }
  }
  const rangeOf = (address: string) => {
    const { searchParams } = new URL(address)
    return ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? '')) as [number, number]
  }

  test('has a time axis, and is zoomed by dragging', async () => {
    const { page, area } = await arrive('/requests?period=24h&model=sandbox%2Fecho')
    await page.locator('figcaption').getByText('2 requests, 1 with an error').waitFor()
    expect(await page.getByText(/^\d\d:\d\d( [AP]M)?$/).count()).toBeGreaterThan(3)
    const box = await area.boundingBox()
    if (!box) throw new Error('The histogram has no place')
    await page.mouse.move(box.x + box.width / 2, box.y + 30)
    await page.mouse.down()
    await page.mouse.move(box.x + box.width - 2, box.y + 30)
    await page
      .getByRole('status')
      .getByText(/: 2 requests, 1 with an error$/)
      .waitFor()
    await page.mouse.up()
    await page.waitForURL((url) => url.searchParams.has('from'))
    const [from, to] = rangeOf(page.url())
    expect((to - from) / hourMs).toBeGreaterThan(11)
    expect((to - from) / hourMs).toBeLessThan(13)
    expect(new URL(page.url()).searchParams.get('model')).toBe('sandbox/echo')
    await page
      .getByRole('link', { name: /^Request gen-/ })
      .first()
      .waitFor()
    expect(await inspectWithAxe(page)).toEqual([])

    await page.getByRole('button', { name: 'Reset zoom' }).click()
    await page.waitForURL((url) => !url.searchParams.has('from'))
    expect(new URL(page.url()).searchParams.get('period')).toBe('24h')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('is zoomed with the keyboard, and Escape only leaves the choice', async () => {
    const { page, area } = await arrive('/requests?period=1h')
    await area.focus()
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Shift+ArrowLeft')
    const chosen = page.getByRole('status').getByText(/ – .*requests/)
    await chosen.waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    await page.keyboard.press('Escape')
    await chosen.waitFor({ state: 'detached' })
    expect(new URL(page.url()).pathname).toBe('/requests')
    for (const key of ['ArrowLeft', 'Shift+ArrowLeft', 'Shift+ArrowLeft', 'Enter'])
      await page.keyboard.press(key)
    await page.waitForURL((url) => url.searchParams.has('from'))
    const [from, to] = rangeOf(page.url())
    expect((to - from) / 60_000).toBeCloseTo(3, 0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
