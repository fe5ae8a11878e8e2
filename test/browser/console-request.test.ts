import { afterAll, beforeAll, expect, test } from 'bun:test'
import { insertLine } from '../../src/ledger/bill-lines.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

const longText = 'Long enough to be cut. '.repeat(2000)

describeInChromium('The screen of a request', (chromium) => {
  let server: TestServer
  /** Oldest first. */
  const ids: string[] = []
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    const { managementKey, inferenceKey } = server.own
    const body = { is_observability_io_logging_enabled: true }
    await server.call('PATCH', '/workspaces/default', { key: managementKey, body })
    for (const content of ['First', 'Second sandbox:error=500', longText, 'Fourth']) {
      const reply = await server.call('POST', '/chat/completions', {
        key: inferenceKey,
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
      })
      ids.push(reply.headers.get('x-generation-id') ?? '')
    }
    const { db } = server.gateway
    const line = { provider: 'exa', usage: null, quantity: 5, cost: 0n, durationMs: 40 }
    await insertLine(db, ids[2] ?? '', 0, { ...line, kind: 'tool', name: 'web_search', nestedId: null })
    const nested = { kind: 'request', name: 'sandbox/echo', nestedId: ids[3] ?? '' } as const
    await insertLine(db, ids[2] ?? '', 1, { ...line, ...nested, quantity: 1 })
  })
  afterAll(() => server.stop())

  const arrive = async (path: string) => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    await person.open(path)
    await person.waitUntilLoaded()
    return { person, page: person.page }
  }

  test('leads to the neighbors in the list, with J and K, and back to it', async () => {
    const { page, person } = await arrive('/requests?model=sandbox%2Fecho&period=all')
    const [first = '', second = '', third = ''] = ids.toReversed()
    await page
      .getByRole('link', { name: `Request ${second}` })
      .first()
      .click()
    await page.getByText('2 of 4').waitFor()
    await person.waitUntilLoaded()
    await page.keyboard.press('j')
    await page.waitForURL((url) => url.pathname === `/requests/${third}`)
    await page.getByText('3 of 4').waitFor()
    await page.keyboard.press('k')
    await page.getByText('2 of 4').waitFor()
    await page.getByRole('button', { name: 'Previous' }).click()
    await page.waitForURL((url) => url.pathname === `/requests/${first}`)
    await page.getByText('1 of 4').waitFor()
    expect(await page.getByRole('button', { name: 'Previous' }).isDisabled()).toBe(true)
    await page.getByRole('link', { name: '← Back to the list' }).click()
    await page.waitForURL((url) => url.pathname === '/requests' && url.searchParams.get('period') === 'all')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('shows the error and the messages before the rest, and leads to requests like it', async () => {
    const { page } = await arrive(`/requests/${ids[1]}`)
    await page.getByRole('button', { name: 'Show messages' }).click()
    await page.getByText('Second sandbox:error=500').waitFor()
    const positions = await Promise.all(
      [
        page.getByText('Failed: ').first(),
        page.getByRole('heading', { name: 'Messages' }),
        page.getByRole('heading', { name: 'Timeline' }),
        page.getByRole('heading', { name: 'Price' }),
      ].map(async (part) => (await part.boundingBox())?.y ?? Number.NaN),
    )
    expect(positions).toEqual(positions.toSorted((one, other) => one - other))
    expect(await inspectWithAxe(page)).toEqual([])
    await page.getByRole('link', { name: 'Requests like this' }).click()
    await page.waitForURL((url) => url.searchParams.get('status') === 'failed')
    await page
      .getByRole('link', { name: `Request ${ids[1]}` })
      .first()
      .waitFor()
    expect(await page.getByRole('link', { name: /^Request gen-/ }).count()).toBe(1)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('places tools and nested requests on the timeline', async () => {
    const { page } = await arrive(`/requests/${ids[2]}`)
    const timeline = page.getByRole('list', { name: 'Timeline' })
    await timeline.getByText('Tool: web_search × 5').waitFor()
    await timeline.getByText('exa, start not recorded').waitFor()
    await timeline.getByRole('link', { name: 'Nested request: sandbox/echo' }).click()
    await page.waitForURL((url) => url.pathname === `/requests/${ids[3]}`)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('cuts long messages, and shows JSON as a tree that opens with the keyboard', async () => {
    const { page } = await arrive(`/requests/${ids[2]}`)
    await page.getByRole('button', { name: 'Show messages' }).click()
    await page
      .getByRole('button', { name: /^Show all .* characters$/ })
      .first()
      .waitFor()
    await page.getByText('JSON', { exact: true }).click()
    const tree = page.getByRole('group', { name: 'Prompt and reply' })
    const message = tree.getByRole('button', { name: /^0: 2 fields/ })
    await tree.getByRole('button', { name: /^messages: 1 item/ }).press('Enter')
    await message.press('Enter')
    await tree.getByText('role:').waitFor()
    const more = tree.getByRole('button', { name: /^Show more \(/ }).first()
    const name = await more.innerText()
    await more.click()
    // The reply, which repeats the prompt, stays cut.
    await tree.getByRole('button', { name }).nth(1).waitFor({ state: 'detached' })
    expect(await inspectWithAxe(page)).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('copies a link that colleagues can open', async () => {
    const { page } = await arrive(`/requests/${ids[0]}`)
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    await page.getByRole('button', { name: 'Copy link' }).click()
    await page.getByRole('button', { name: 'Copied' }).waitFor()
    const copied = String(await page.evaluate('navigator.clipboard.readText()'))
    expect(new URL(copied).pathname).toBe(`/requests/${ids[0]}`)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('two requests are compared by their parameters and messages', async () => {
    const { page, person } = await arrive(`/requests/${ids[0]}`)
    await page.getByRole('button', { name: 'Compare' }).click()
    const offered = page.getByRole('list', { name: 'Latest with the same model and key' })
    await offered.getByRole('link').nth(2).waitFor()
    await page.getByLabel('Generation ID').fill(ids[1] ?? '')
    await page.getByRole('dialog').getByRole('button', { name: 'Compare' }).click()
    await page.waitForURL((url) => url.searchParams.get('other') === ids[1])
    const table = page.getByRole('table', { name: 'Parameters and figures' })
    await table.getByRole('row', { name: 'Status completed failed' }).waitFor()
    expect(await table.getByRole('row', { name: /^Format / }).count()).toBe(0)
    await page.getByLabel('Only differences').click()
    await table.getByRole('row', { name: 'Format chat chat' }).waitFor()
    await page.getByRole('button', { name: 'Show messages' }).click()
    const differences = page.getByRole('region', { name: 'Differences of the messages' })
    await differences.locator('del').getByText('First').first().waitFor()
    await differences.locator('ins').getByText('Second sandbox:error=500').waitFor()
    expect(await inspectWithAxe(page)).toEqual([])

    await person.open(`/requests/compare?one=${ids[0]}&other=${ids[2]}`)
    await page.getByRole('button', { name: 'Show messages' }).click()
    await differences.locator('ins').nth(20).waitFor()
    await person.open(`/requests/compare?one=${ids[0]}&other=gen-unknown`)
    await page.getByText('No such request').or(page.getByRole('alert')).first().waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
