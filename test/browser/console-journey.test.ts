import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { makeHostileText } from './hostile.ts'
import { Person } from './person.ts'

describeInChromium('A newcomer in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const choose = (page: Page, name: string) =>
    page.getByRole('navigation', { name: 'Screens' }).getByRole('link', { name, exact: true }).click()

  test('goes from the first link to a refused request, and learns why', async () => {
    const person = await Person.arrive(server, chromium())
    const { page } = person
    await person.signInWithLink(server.own.owner.id)
    await heading(page, 'Get started').waitFor()

    await page.getByRole('button', { name: /Create an API key/ }).click()
    await page.getByRole('button', { name: 'Create a key' }).click()
    const dialog = page.getByRole('dialog')
    const secret = (await dialog.locator('pre').textContent()) ?? ''
    await dialog.getByLabel('I have stored it').check()
    await dialog.getByRole('button', { name: 'Done' }).click()
    const send = (content: string) =>
      server.call('POST', '/chat/completions', {
        key: secret,
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
      })
    expect((await send('What does this cost?')).status).toBe(200)
    await page.getByText('The first request has arrived').waitFor()

    await choose(page, 'Requests')
    await page.getByRole('row', { name: /sandbox\/echo/ }).click()
    await heading(page, 'sandbox/echo').waitFor()
    await page.getByRole('row', { name: /^Prompt \d+ tokens × \$/ }).waitFor()
    await page.getByRole('row', { name: /^Charged \$0\.0/ }).waitFor()

    await choose(page, 'Budgets')
    await page.getByRole('button', { name: /^Edit budgets of/ }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Month' }).fill('0.000001')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await send('And now?')).status).toBe(403)
    await flushRequestLog(server.gateway)

    await choose(page, 'Requests')
    await page.getByRole('row', { name: /refused/ }).click()
    await page.getByRole('alert', { name: /^Refused:/ }).waitFor()
    await page.getByText('What would have let it through').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 120_000)

  test('sees a hostile prompt and reply as text, in the log and in the playground', async () => {
    const prompt = makeHostileText('prompt', 'content')
    await server.call('PATCH', `/workspaces/${server.own.workspace.id}`, {
      body: { is_observability_io_logging_enabled: true, io_logging_sampling_rate: 1 },
    })
    await server.call('DELETE', `/workspaces/${server.own.workspace.id}/budgets/monthly`)
    const { body } = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: prompt }] },
    })
    const person = await Person.arrive(server, chromium(), { viewport: { width: 390, height: 844 } })
    const { page } = person
    await person.signInWithLink(server.own.owner.id)
    await person.open(`/requests/${body.id}`)
    await page.getByRole('button', { name: 'Show messages' }).click()
    await page.getByText('<script>alert(2)</script>').nth(1).waitFor()
    await expectHarmless(page)

    await person.open('/playground?model=sandbox/echo')
    await page.getByRole('textbox', { name: 'Message' }).fill(prompt)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('<svg onload=alert(3)>').nth(1).waitFor()
    await expectHarmless(page)
    expect(await chromium().takeProblems()).toEqual([])
  }, 120_000)
})

/** Expects that no text has become an element, and nothing is wider than the screen. */
async function expectHarmless(page: Page): Promise<void> {
  expect(await page.locator('main img, main script, main iframe, [onload], [onerror]').count()).toBe(0)
  expect(await page.locator('a[href^="javascript:" i]').count()).toBe(0)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
}
