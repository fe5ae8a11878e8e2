import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { waitUntil } from '../support/wait-until.ts'
import { Visitor } from './visitor.ts'

describeInChromium('Shadow mode in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('a shadow is created, and its report leads to both requests', async () => {
    const session = await createSessionCaller(server, { role: 'org:admin' })
    const visitor = await Visitor.arrive(server, chromium(), session)
    const { page } = visitor
    expect((await visitor.visit('/shadows')).problems).toEqual([])
    await page.getByText('No shadows yet').waitFor()
    await page.getByRole('button', { name: 'Create a shadow' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Old gateway')
    await dialog.getByLabel('Share of the requests').fill('100')
    await dialog.getByLabel('Budget for a day').fill('2')
    await dialog.getByLabel('Model of the mirrors').fill('sandbox/echo')
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await dialog.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('link', { name: 'Old gateway' }).waitFor()

    const [shadow] = (await server.call('GET', '/shadows')).body.data
    expect(shadow).toMatchObject({ share: 1, daily_usd: 2, target: { model: 'sandbox/echo' } })
    const request = (content: string) => ({
      key: server.own.inferenceKey,
      body: { model: 'sandbox/reasoner', messages: [{ role: 'user', content }], max_tokens: 3 },
    })
    await server.call('POST', '/chat/completions', request('Hello'))
    const list = async () =>
      (await server.call('GET', `/shadows/${shadow.id}/comparisons`)).body.data as {
        original: { generation_id: string }
      }[]
    await waitUntil(async () => (await list()).length === 1)
    const [comparison] = await list()

    await page.getByRole('link', { name: 'Old gateway' }).click()
    await page.getByRole('heading', { name: 'Old gateway' }).waitFor()
    await page.getByRole('switch', { name: 'Only those that differ' }).uncheck()
    const row = page.getByRole('row', { name: /sandbox\/echo/ })
    await row.waitFor()
    await visitor.settle()
    for (const scheme of ['light', 'dark'] as const) expect(await visitor.findViolations(scheme)).toEqual([])
    await row.getByRole('link', { name: 'Compare the requests' }).click()
    await page.waitForURL(/requests\/compare\?/)
    expect(page.url()).toContain(comparison?.original.generation_id ?? '')

    await visitor.visit('/shadows')
    await page.getByRole('button', { name: 'Actions for Old gateway' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByLabel(/to confirm/).fill('Old gateway')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No shadows yet').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
