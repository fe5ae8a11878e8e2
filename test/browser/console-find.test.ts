import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator } from 'playwright-core'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

describeInChromium('Finding a request in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    const { managementKey, inferenceKey } = server.own
    const body = { is_observability_io_logging_enabled: true }
    expect((await server.call('PATCH', '/workspaces/default', { key: managementKey, body })).status).toBe(200)
    for (const content of [
      'Hello there',
      'My parcel to Lisbon never arrived sandbox:error=500',
      'The parcel arrived',
    ])
      await server.call('POST', '/chat/completions', {
        key: inferenceKey,
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
      })
  })
  afterAll(() => server.stop())

  test('a failed one by a sentence of its prompt, with two clicks', async () => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    const { page } = person
    await person.open('/requests')
    await person.waitUntilLoaded()
    let clicks = 0
    const click = async (target: Locator) => {
      clicks++
      await target.click()
    }
    const links = page.getByRole('link', { name: /^Request gen-/ })
    await links.nth(2).waitFor()

    await click(page.getByLabel('Search requests'))
    await page.keyboard.type('status:error "parcel to Lisbon"')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Remove the filter "parcel to Lisbon"' }).waitFor()
    await page.waitForURL(/text=/)
    await links.nth(1).waitFor({ state: 'detached' })
    expect(await links.count()).toBe(1)
    await click(links.first())
    await page.waitForURL(/\/requests\/gen-/)
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(clicks).toBeLessThanOrEqual(3)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('fields and records are completed by name, and times stay relative', async () => {
    const { managementKey } = server.own
    const created = await server.call('POST', '/keys', {
      key: managementKey,
      body: { name: 'checkout, new' },
    })
    const messages = [{ role: 'user', content: 'Where is my order?' }]
    await server.call('POST', '/chat/completions', {
      key: created.body.key,
      body: { model: 'sandbox/echo', messages, user: 'customer-42' },
    })
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    const { page } = person
    await person.open('/requests')
    await person.waitUntilLoaded()
    const field = page.getByLabel('Search requests')
    const links = page.getByRole('link', { name: /^Request gen-/ })
    await links.nth(3).waitFor()
    const choose = async (typed: string, option: RegExp) => {
      await field.fill(typed)
      await page.getByRole('option', { name: option }).click()
    }
    await choose('ke', /^key:/)
    expect(await field.inputValue()).toBe('key:')
    await choose('key:check', /^checkout, new/)
    await page.getByRole('button', { name: /^Remove the filter key:/ }).waitFor()
    await links.nth(1).waitFor({ state: 'detached' })
    await choose('user:', /^customer-42/)
    await choose('after:', /^24h/)
    await page.waitForURL((url) => url.searchParams.get('from') === '24h')
    await choose('-member:', new RegExp(server.own.owner.email))
    await page.waitForURL((url) => url.searchParams.get('user_id') === `!${server.own.owner.id}`)
    await page.getByRole('button', { name: /^Remove the filter member:not / }).waitFor()
    await page.getByText('No request matches').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('what cannot be read is said at the field', async () => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    await person.open('/requests')
    await person.page.getByLabel('Search requests').fill('cost>much')
    await person.page.keyboard.press('Enter')
    await person.page.getByText('Example: cost>0.01').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
