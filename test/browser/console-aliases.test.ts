import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Visitor } from './visitor.ts'

describeInChromium('Model aliases in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('an alias is listed with its weights, which are changed, and deleted', async () => {
    const body = {
      name: 'support',
      split_by: 'user',
      targets: [
        { model: 'sandbox/echo', weight: 95, tag: 'arm=a' },
        { model: 'sandbox/reasoner', weight: 5, tag: 'arm=b' },
      ],
    }
    const { id } = (await server.call('POST', '/model-aliases', { body })).body.data
    const session = await createSessionCaller(server, { role: 'org:admin' })
    const visitor = await Visitor.arrive(server, chromium(), session)
    const { page } = visitor
    expect((await visitor.visit('/aliases')).problems).toEqual([])
    const row = page.getByRole('row', { name: /support/ })
    await row.getByText('95% sandbox/echo arm=a').waitFor()
    await row.getByText('By end user').waitFor()
    await page.getByRole('button', { name: 'Actions for support' }).click()
    await page.getByRole('menuitem', { name: 'Change weights' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('sandbox/reasoner').fill('285')
    await dialog.getByText('arm=b, 75%').waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('75% sandbox/reasoner arm=b').waitFor()
    const changed = (await server.call('GET', `/model-aliases/${id}`)).body.data
    expect(changed).toMatchObject({
      split_by: 'user',
      targets: [
        { model: 'sandbox/echo', weight: 95, tag: 'arm=a' },
        { model: 'sandbox/reasoner', weight: 285, tag: 'arm=b' },
      ],
    })

    const reply = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'support', user: 'u-1', messages: [{ role: 'user', content: 'Hello' }] },
    })
    await server.gateway.requestLog.plans.flush()
    await visitor.visit(`/requests/${reply.headers.get('x-generation-id')}`)
    await page.getByText(/support chose sandbox\/\w+ by end user. Tag of the request: arm=[ab]/).waitFor()

    await visitor.visit('/aliases')
    await page.getByRole('button', { name: 'Actions for support' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByLabel(/to confirm/).fill('support')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No aliases yet').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
