import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Visitor } from './visitor.ts'

describeInChromium('Limits in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arrive = async () => {
    const session = await createSessionCaller(server, { role: 'org:admin' })
    return Visitor.arrive(server, chromium(), session)
  }
  const submit = async (page: Page, name: string) => {
    await page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const fill = (page: Page, label: string, text: string) =>
    page.getByRole('dialog').getByRole('textbox', { name: label, exact: true }).fill(text)
  const choose = async (page: Page, label: string, option: string) => {
    await page.getByRole('dialog').getByRole('combobox', { name: label, exact: true }).click()
    await page.getByRole('option', { name: option, exact: true }).click()
  }
  const act = async (page: Page, name: string, action: string) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  const remove = async (page: Page, name: string) => {
    await act(page, name, 'Delete')
    await page.getByLabel(/to confirm/).fill(name)
    await submit(page, 'Delete')
  }
  const readLimits = async () => (await server.call('GET', '/limits')).body.data

  test('a limit is created, shown with what is used, changed, disabled and deleted', async () => {
    const visitor = await arrive()
    const { page } = visitor
    expect((await visitor.visit('/limits')).problems).toEqual([])
    await page.getByText('No limits yet').waitFor()
    await page.getByRole('button', { name: 'Create a limit' }).click()
    await fill(page, 'Name', 'Echo')
    await choose(page, 'Measure', 'Requests')
    await fill(page, 'Amount', '60')
    await choose(page, 'Window', 'Day')
    const models = page.getByRole('dialog').getByLabel('Models', { exact: true })
    await models.fill('sandbox/*')
    await models.press('Enter')
    await choose(page, 'Count separately for each', 'Key')
    await page.keyboard.press('Escape')
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await submit(page, 'Create')
    const row = page.getByRole('row', { name: /Echo/ })
    await row.getByText('model sandbox/*', { exact: true }).waitFor()
    await row.getByText('Separately for each key').waitFor()
    await row.getByText('60 requests a day').waitFor()
    await row.getByText('0 of 60').waitFor()
    expect(await readLimits()).toMatchObject([
      { amount: 60, window: 'day', per: ['key'], match: { models: ['sandbox/*'], workspace_id: null } },
    ])

    const body = { model: 'sandbox/echo', max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] }
    const key = server.own.inferenceKey
    expect((await server.call('POST', '/chat/completions', { key, body })).status).toBe(200)
    await page.reload()
    await row.getByText('1 of 60').waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])

    await act(page, 'Echo', 'Edit')
    await fill(page, 'Amount', '5')
    await submit(page, 'Save')
    await row.getByText('1 of 5', { exact: false }).waitFor()
    await act(page, 'Echo', 'Disable')
    await row.getByText('disabled').waitFor()
    expect(await readLimits()).toMatchObject([{ amount: 5, enabled: false }])
    await remove(page, 'Echo')
    await page.getByText('No limits yet').waitFor()
    expect(await readLimits()).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the limit of a key is listed with the others, and changed', async () => {
    const key = { name: 'metered', limit: 3, limit_reset: 'monthly' }
    const { data } = (await server.call('POST', '/keys', { body: key })).body
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/limits')
    const row = page.getByRole('row', { name: /metered/ })
    await row.getByText('$3.00 a month').waitFor()
    await row.getByText('key metered').waitFor()
    await act(page, 'metered', 'Edit')
    await fill(page, 'Amount', '4')
    await submit(page, 'Save')
    await row.getByText('$4.00 a month').waitFor()
    expect((await server.call('GET', `/keys/${data.hash}`)).body.data.limit).toBe(4)
    await remove(page, 'metered')
    await page.getByText('No limits yet').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a tier is created, chosen in a limit and for a key, and deleted with its limits', async () => {
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/limits?tab=tiers')
    await page.getByRole('button', { name: 'Create a tier' }).click()
    await fill(page, 'Name', 'free')
    await fill(page, 'Description', 'Trials')
    await submit(page, 'Create')
    const row = page.getByRole('row', { name: /free/ })
    await row.getByText('Trials').waitFor()
    await page.getByRole('tab', { name: 'Limits' }).click()
    await page.getByRole('button', { name: 'Create a limit' }).click()
    await fill(page, 'Name', 'Trial spending')
    await fill(page, 'Amount', '2.5')
    await choose(page, 'Tier', 'free')
    await submit(page, 'Create')
    await page
      .getByRole('row', { name: /Trial spending/ })
      .getByText('$2.50 a day')
      .waitFor()

    const { data } = (await server.call('POST', '/keys', { body: { name: 'trial' } })).body
    await visitor.visit(`/keys/${data.hash}`)
    await act(page, 'trial', 'Edit')
    await page.getByRole('button', { name: 'More options' }).click()
    await choose(page, 'Tier', 'free')
    await submit(page, 'Save')
    expect((await server.call('GET', `/keys/${data.hash}`)).body.data.tier).toBe('free')

    await visitor.visit('/limits?tab=tiers')
    await row.getByRole('cell', { name: '1', exact: true }).waitFor()
    await act(page, 'free', 'Edit')
    await page.getByRole('switch', { name: 'Default for new keys' }).check()
    await submit(page, 'Save')
    await row.getByText('default', { exact: true }).waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await remove(page, 'free')
    await page.getByText('No tiers yet').waitFor()
    expect(await readLimits()).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
