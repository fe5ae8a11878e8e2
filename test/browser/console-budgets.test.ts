import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const phone = { viewport: { width: 390, height: 844 } }
const hostileName = '=<img src=x onerror=alert(1)>'

describeInChromium('Budgets in the console', (chromium) => {
  let server: TestServer
  let secret: string
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    const { workspace, owner } = server.own
    const body = { name: hostileName, workspace_id: workspace.id, creator_user_id: owner.id }
    secret = (await server.call('POST', '/keys', { body })).body.key
  })
  afterAll(() => server.stop())

  const arrive = async (options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(server.own.owner.id)
    return person
  }
  /** Sends a request that holds more than a cent, and costs next to nothing. */
  const sendRequest = async () => {
    const message = { role: 'user', content: 'Hello' }
    const body = { model: 'sandbox/echo', max_tokens: 1_000_000, messages: [message] }
    const reply = await server.call('POST', '/chat/completions', { key: secret, body })
    await flushRequestLog(server.gateway)
    return reply
  }
  const save = async (page: Page) => {
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
  }
  const field = (page: Page, name: string) => page.getByRole('dialog').getByRole('textbox', { name })
  /** Wide and narrow screens have it in different places. */
  const shown = (row: Locator, text: RegExp) => row.getByText(text).filter({ visible: true })
  const openTree = async (page: Page) => {
    await page.getByRole('button', { name: /^members of/ }).click()
    await page.getByRole('button', { name: /^keys of/ }).click()
  }

  test('a budget that is set here refuses a request, and the request says what would have let it pass', async () => {
    const person = await arrive()
    const { page } = person
    await person.open('/budgets')
    const edit = page.getByRole('button', { name: /^Edit budgets of/ })
    await edit.click()
    await field(page, 'Day').fill('0.01')
    await field(page, 'Month').fill('0.005')
    await page.getByText('Must be more than the limit of a day.').waitFor()
    expect(await page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await field(page, 'Month').fill('0.5')
    await save(page)
    await page.getByText('$0 of $0.01 a day, $0.01 left').waitFor()

    expect((await sendRequest()).body.error.metadata.reason).toBe('workspace_budget_reached')
    await openTree(page)
    const row = page.getByRole('row', { name: hostileName })
    await shown(row, /^Budget of .*, a day: \$0\.01 left$/).waitFor()
    await person.open('/requests?status=refused')
    await page.getByRole('row', { name: /sandbox\/echo/ }).click()
    await page.getByText('Refused: workspace_budget_reached (HTTP 403)').waitFor()
    await page.getByText('What would have let it through').waitFor()

    await person.open('/budgets')
    await edit.click()
    await field(page, 'Day').fill('')
    await field(page, 'Month').fill('50')
    await save(page)
    await page.getByText(/of \$50\.00 a month/).waitFor()
    expect(await page.getByText(/a day,/).count()).toBe(0)
    expect((await sendRequest()).status).toBe(200)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the limit of a key is set in the tree, and blocks first', async () => {
    const person = await arrive(phone)
    const { page } = person
    await person.open('/budgets?window=daily')
    await openTree(page)
    await page.getByRole('button', { name: `Edit limit of ${hostileName}` }).click()
    await page.getByLabel('Spending limit').fill('0.01')
    await save(page)
    const row = page.getByRole('row', { name: hostileName })
    await shown(row, /^Its own limit, in total: \$0\.00\d+ left$/).waitFor()
    expect((await sendRequest()).body.error.metadata.reason).toBe('key_limit_reached')
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phone.viewport.width)

    await row.getByRole('link', { name: hostileName, exact: true }).click()
    await page
      .getByText(/^A request is refused first by the limit of the key \(in total\): \$0\.00\d+ left\.$/)
      .waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('credits: entries by kind, and the ledger is checked', async () => {
    await server.call('POST', '/credits/grants', { body: { amount: 12.5, note: hostileName } })
    const person = await arrive()
    const { page } = person
    await person.open('/credits')
    await page.getByRole('cell', { name: '-$', exact: false }).first().waitFor()
    await page.getByRole('combobox', { name: 'Kind' }).click()
    await page.getByRole('option', { name: 'Grant' }).click()
    await page.waitForURL(/type=grant/)
    await page
      .getByRole('row', { name: /\$12\.50/ })
      .getByText(hostileName)
      .waitFor()
    expect(await page.getByRole('cell', { name: 'Charge' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Check now' }).click()
    await page.getByText('The ledger is sound').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the playground charges the workspace that is chosen', async () => {
    const body = { name: 'Research', slug: 'research' }
    const { id } = (await server.call('POST', '/workspaces', { body })).body.data
    const person = await arrive()
    const { page } = person
    await person.open('/playground?model=sandbox/echo')
    await page.getByRole('combobox', { name: 'Workspace' }).click()
    await page.getByRole('option', { name: 'Research' }).click()
    await page.getByText('Requests are charged to the workspace Research.').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('Hello')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page
      .getByText(/first token/i)
      .first()
      .waitFor()
    const { data } = (await server.call('GET', `/generations?workspace_id=${id}`)).body
    expect(data).toMatchObject([{ workspace: { name: 'Research' }, status: 'completed' }])

    // Every screen is about the workspace of the menu, and says so.
    await person.open('/guardrails')
    await page.getByText('Workspace: Research', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create a guardrail' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Research only')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await page.getByRole('heading', { name: 'Research only' }).waitFor()
    const created = (await server.call('GET', `/guardrails?workspace_id=${id}`)).body.data
    expect(created.map(({ name }: { name: string }) => name)).toContain('Research only')

    await person.open('/requests?period=all')
    await page.getByText('Workspace: Research', { exact: true }).waitFor()
    const rows = page.getByText('sandbox/echo', { exact: true })
    await rows.first().waitFor()
    await page.getByRole('combobox', { name: 'Workspace' }).click()
    await page.getByRole('option', { name: 'Research' }).click()
    await page.getByText('All workspaces', { exact: true }).first().waitFor()
    await rows.first().waitFor()
    await person.open('/guardrails')
    await page.getByRole('cell', { name: 'Research', exact: true }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
