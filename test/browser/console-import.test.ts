import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Visitor } from './visitor.ts'

describeInChromium('Imports in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('a file is planned, applied and reported', async () => {
    const session = await createSessionCaller(server, { role: 'org:admin' })
    const visitor = await Visitor.arrive(server, chromium(), session)
    const { page } = visitor
    expect((await visitor.visit('/import')).problems).toEqual([])
    const secret = 'sk-Zx81mQv_27bTTpUJw3-LRg'
    await page.locator('input[type=file]').setInputFiles({
      name: 'keys.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`name,secret,limit\nCheckout,${secret},5\nWeak,sk-1,1\n`),
    })
    await page.getByRole('button', { name: 'Show the plan' }).click()
    await page.getByText('1 created, 0 updated, 0 existing, 1 skipped').waitFor()
    await page.getByRole('cell', { name: /is weak/ }).waitFor()
    const find = () => server.call('GET', `/keys/${sha256(secret)}`)
    expect((await find()).status).toBe(404)
    await visitor.settle()
    for (const scheme of ['light', 'dark'] as const) expect(await visitor.findViolations(scheme)).toEqual([])
    await page.getByRole('button', { name: 'Apply' }).click()
    await page.getByRole('heading', { name: 'Imported: Keys in CSV or JSON Lines' }).waitFor()
    expect((await find()).body.data).toMatchObject({ name: 'Checkout', limit: 5 })
    expect(await chromium().takeProblems()).toEqual([])

    await page.getByLabel('Or paste the text').fill('{"a": 1}')
    await page.getByRole('button', { name: 'Show the plan' }).click()
    await page.getByText(/is not recognized/).waitFor()
  })
})
