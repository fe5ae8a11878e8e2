import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import { findKey } from '../../src/identity/keys.ts'
import { createMember } from '../../src/identity/members.ts'
import { utcDay } from '../../src/platform/time/time.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { recordSpend } from '../support/spend.ts'
import { Person } from './person.ts'

const hostileUser = 'a,b\\c <img src=x onerror="alert(1)">'

describeInChromium('The home screen of the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arriveAsOwner = async (options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(server.own.owner.id)
    return person
  }

  const send = (content: string, more = {}) =>
    server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content }], ...more },
    })

  const card = (page: Page, name: string) => page.getByRole('group', { name, exact: true })

  test('what is missing for a first request stands on top until it is done', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/')
    await page.getByRole('button', { name: 'Hide the checklist' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    const setup = page.getByRole('region', { name: 'Setup' })
    await setup.getByText('Send your first request').waitFor()
    await card(page, 'Latency p95').getByText('–').first().waitFor()
    await page.getByText('Models appear here with their first request.').waitFor()
    await page.getByText('No request failed or was refused in the last 7 days.').waitFor()
    await setup.getByRole('button', { name: 'Send the first request' }).click()
    await page.getByRole('button', { name: 'Send a test request' }).click()
    await page.getByText('sandbox/echo answered').waitFor()
    await page.getByRole('button', { name: 'Show the overview' }).click()
    await setup.getByText('Finish the setup').waitFor()
    await setup.getByRole('button', { name: 'Add a provider' }).waitFor()
    expect(await setup.getByRole('button', { name: 'Send the first request' }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('every number leads to the requests behind it', async () => {
    await send('one', { user: hostileUser })
    await send('two sandbox:error=500', { user: 'grace' })
    await flushRequestLog(server.gateway)
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/')
    await card(page, 'Requests')
      .getByRole('link', { name: /^Requests of the last 24 hours: 3/ })
      .waitFor()
    await card(page, 'Error rate').getByText('1 error', { exact: true }).waitFor()
    await card(page, 'Error rate')
      .getByRole('link', { name: /^Error rate of the last 7 days: 33.3%/ })
      .click()
    await page.waitForURL(/\/requests\?.*status=failed/)
    await page.getByRole('img', { name: '1 requests, 1 with an error' }).waitFor()

    await page.goBack()
    await page.getByRole('radiogroup', { name: 'Rank by' }).getByText('Requests').click()
    await page.getByRole('link', { name: `${hostileUser}: 1. Show the requests` }).click()
    await page.getByRole('img', { name: '1 requests, 0 with an error' }).waitFor()
    expect(await page.locator('main img').count()).toBe(0)

    await page.goBack()
    const failures = page.getByRole('region', { name: 'Latest failures' })
    await failures.getByRole('row').nth(1).getByRole('link').click()
    await page.waitForURL(/\/requests\/gen-/)
    await page.getByText('HTTP 500').first().waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a budget that is nearly used is shown with its forecast, and leads to its owner', async () => {
    const { own, clock, gateway } = server
    const created = await server.call('POST', '/keys', {
      body: { name: 'nightly', limit: 10, limit_reset: 'monthly' },
    })
    const key = await findKey(gateway.db, own.organization.id, created.body.data.hash)
    if (!key) throw new Error('the key is missing')
    await recordSpend(gateway, key, utcDay(clock.now()), { credits: 9 })
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/?period=week')
    const budgets = page.getByRole('region', { name: 'Budgets above 80%' })
    await budgets.getByText('$9.00 of $10.00 a month, $1.00 left').waitFor()
    await budgets.getByRole('link', { name: 'nightly' }).click()
    await page.getByRole('heading', { level: 1, name: 'nightly' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a member without a role in a workspace is asked for nothing that they may not read', async () => {
    const { clock, gateway, own } = server
    const names = { organizationId: own.organization.id, email: 'eve@example.com' }
    const member = await createMember(gateway.db, clock, { ...names, role: 'org:member' })
    const person = await Person.arrive(server, chromium())
    const refused: string[] = []
    person.page.on('response', (response) => {
      if (response.status() === 403) refused.push(response.url())
    })
    await person.signIn(member.id)
    await person.open('/')
    await person.page.getByRole('button', { name: 'Hide the checklist' }).click()
    await person.page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await person.waitUntilLoaded()
    expect(refused).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
