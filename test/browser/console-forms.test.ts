import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import { flushRequestLog } from '../../src/gateway/request-log.ts'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Visitor } from './visitor.ts'

/** Clicks as a person does, and counts. */
class Clicks {
  count = 0

  async on(target: Locator): Promise<void> {
    this.count++
    await target.click()
  }
}

describeInChromium('Forms of governance in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arrive = async () => {
    const session = await createSessionCaller(server, { role: 'org:admin' })
    return Visitor.arrive(server, chromium(), session)
  }
  const button = (page: Page, name: string) =>
    page.getByRole('dialog').getByRole('button', { name, exact: true })
  const chat = (key: string, model: string) =>
    server.call('POST', '/chat/completions', {
      key,
      body: { model, max_tokens: 5, messages: [{ role: 'user', content: 'Hello' }] },
    })
  const findKey = async (name: string) => {
    const { body } = await server.call('GET', '/keys')
    return body.data.find((key: { name: string }) => key.name === name)
  }

  test('a key is limited to two models and 60 requests a minute, with six clicks', async () => {
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/keys')
    const clicks = new Clicks()
    await clicks.on(page.getByRole('button', { name: 'Create a key' }))
    await page.keyboard.type('Checkout')
    const models = page.getByRole('combobox', { name: 'Allowed models' })
    await clicks.on(models)
    for (const model of ['sandbox/echo', 'sandbox/reasoner']) {
      await models.fill(model)
      await models.press('Enter')
    }
    await clicks.on(button(page, 'Add rate limit'))
    await page.keyboard.type('60')
    await page.getByRole('dialog').getByText('More options').waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await clicks.on(button(page, 'Create'))
    await clicks.on(page.getByRole('checkbox', { name: 'I have stored it' }))
    const secret = (await page.getByRole('dialog').locator('pre').textContent()) ?? ''
    await clicks.on(button(page, 'Done'))
    await page.getByRole('link', { name: 'Checkout' }).waitFor()
    expect(clicks.count).toBeLessThanOrEqual(6)

    expect((await chat(secret, 'sandbox/echo')).status).toBe(200)
    expect((await chat(secret, 'sandbox/reasoner')).status).toBe(200)
    const other = { key: secret, body: { model: 'sandbox/embedder', input: 'Hello' } }
    expect((await server.call('POST', '/embeddings', other)).status).toBe(403)
    const { hash } = await findKey('Checkout')
    const limits = (await server.call('GET', `/limits?key_hash=${hash}&source=limit`)).body.data
    expect(limits).toMatchObject([{ measure: 'requests', window: 'minute', amount: 60 }])

    await page.getByRole('button', { name: 'Actions for Checkout' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await page.getByRole('textbox', { name: 'Limit', exact: true }).fill('90')
    await button(page, 'More options').click()
    const set = page.getByRole('combobox', { name: 'Always set' })
    await set.fill('team=shop')
    await set.press('Enter')
    await page.getByRole('combobox', { name: 'Highest priority' }).click()
    await page.getByRole('option', { name: 'High' }).click()
    await button(page, 'Save').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await findKey('Checkout')).toMatchObject({ max_priority: 'high', tags: { set: { team: 'shop' } } })
    const changed = (await server.call('GET', `/limits?key_hash=${hash}&source=limit`)).body.data
    expect(changed).toMatchObject([{ id: limits[0].id, amount: 90 }])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('keys are created from a list; what fails is said in its line, and the secrets are downloaded', async () => {
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByText('Several keys').click()
    await page.getByLabel('Keys', { exact: true }).fill('name,limit,tier\nsearch,5,\nads,,nope\nmail,,')
    await button(page, 'Create 3').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 of 3 keys created').waitFor()
    await dialog.getByRole('row', { name: /ads Not created/ }).waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    const download = page.waitForEvent('download')
    await button(page, 'Download secrets as CSV').click()
    const csv = await readFile(await (await download).path(), 'utf8')
    const [header, search, mail, ...rest] = csv.split('\r\n')
    expect([header, rest]).toEqual(['name,hash,secret', ['']])
    expect([search?.startsWith('search,'), mail?.startsWith('mail,')]).toEqual([true, true])
    expect((await chat(search?.split(',')[2] ?? '', 'sandbox/echo')).status).toBe(200)
    await page.getByRole('checkbox', { name: 'I have stored the secrets' }).click()
    await button(page, 'Done').click()
    expect(await findKey('search')).toMatchObject({ limit: 5 })
    expect(await findKey('ads')).toBeUndefined()
    // The browser reports the response that the line shows.
    expect((await chromium().takeProblems()).filter((problem) => !problem.includes('400'))).toEqual([])
  }, 60_000)

  test('before a guardrail is saved, it says what it would have rejected', async () => {
    const { hash, secret } = await createKey('Reports')
    expect((await chat(secret, 'sandbox/echo')).status).toBe(200)
    await flushRequestLog(server.gateway)
    const { id } = (await server.call('POST', '/guardrails', { body: { name: 'Strict' } })).body.data
    await server.call('POST', `/guardrails/${id}/assignments/keys`, { body: { key_hashes: [hash] } })
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit(`/guardrails/${id}`)
    expect(await visitor.findViolations('light')).toEqual([])
    const models = page.getByRole('combobox', { name: 'Allowed models' })
    await models.fill('sandbox/reasoner')
    await models.press('Enter')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Review and save' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Applies to 1 key, from their next request on.').waitFor()
    await dialog.getByText('Of 1 request in the last 7 days, 1 would have been rejected.').waitFor()
    await dialog.getByRole('row', { name: /Key Reports 1 of 1 request/ }).waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await button(page, 'Save').click()
    await dialog.waitFor({ state: 'detached' })
    expect((await chat(secret, 'sandbox/echo')).status).toBe(403)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('an alias is created with weights, and becomes a group', async () => {
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/aliases')
    await page.getByRole('button', { name: 'Create an alias' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('support')
    await page.getByText('By weight', { exact: true }).click()
    for (const [at, model] of ['sandbox/echo', 'sandbox/reasoner'].entries()) {
      const picker = page.getByRole('combobox', { name: `Model ${at + 1}` })
      await picker.fill(model)
      await picker.press('Tab')
    }
    await page.getByLabel('Weight 1').fill('150')
    await page.getByRole('dialog').getByText('75%').waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await button(page, 'Create').click()
    const row = page.getByRole('row', { name: /support/ })
    await row.getByText('75% sandbox/echo').waitFor()

    await page.getByRole('button', { name: 'Actions for support' }).click()
    await page.getByRole('menuitem', { name: 'Edit' }).click()
    await page.getByText('In order', { exact: true }).click()
    await button(page, 'Save').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const aliases = (await server.call('GET', '/model-aliases')).body.data
    expect(aliases).toMatchObject([
      { name: 'support', models: ['sandbox/echo', 'sandbox/reasoner'], targets: null },
    ])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a routing rule is written from an example, tried, saved, disabled and deleted', async () => {
    const { secret } = await createKey('Ruled')
    expect((await chat(secret, 'sandbox/echo')).status).toBe(200)
    await flushRequestLog(server.gateway)
    const visitor = await arrive()
    const { page } = visitor
    expect((await visitor.visit('/routing')).problems).toEqual([])
    await page.getByRole('link', { name: 'Routing rules' }).click()
    await page.getByText('No routing rules yet').waitFor()
    await page.getByRole('button', { name: 'Create a rule' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Echo')
    await button(page, 'Insert an example').click()
    await page.getByRole('menuitem', { name: 'Requests for a model' }).click()
    const models = page.getByRole('combobox', { name: 'Models' })
    await models.fill('sandbox/reasoner')
    await models.press('Enter')
    await button(page, 'Try on the last 7 days').click()
    await page.getByRole('row', { name: /^sandbox\/echo sandbox\/reasoner \d/ }).waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await button(page, 'Create').click()
    const row = page.getByRole('row', { name: /Echo/ })
    await row.getByText('sandbox/reasoner').waitFor()
    const act = async (action: string) => {
      await page.getByRole('button', { name: 'Actions for Echo' }).click()
      await page.getByRole('menuitem', { name: action }).click()
    }
    await act('Disable')
    await row.getByText('disabled').waitFor()
    await act('Edit')
    await page.getByText('Reject', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Message' }).fill('Use sandbox/reasoner.')
    await page.getByRole('switch', { name: 'Enabled' }).click()
    await button(page, 'Save').click()
    await row.getByText('Reject: Use sandbox/reasoner.').waitFor()
    expect((await chat(secret, 'sandbox/echo')).body.error.message).toContain('Use sandbox/reasoner.')
    await act('Delete')
    await page.getByLabel(/to confirm/).fill('Echo')
    await button(page, 'Delete').click()
    await page.getByText('No routing rules yet').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('several keys are chosen with the mouse and the keyboard, disabled, tagged and exported', async () => {
    for (const name of ['bulk a', 'bulk b', 'bulk c', 'bulk d']) await createKey(name)
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit('/keys?q=bulk')
    const select = (name: string) => page.getByRole('checkbox', { name: `Select ${name}` })
    await select('bulk d').click()
    await select('bulk b').click({ modifiers: ['Shift'] })
    await page.getByText('3 selected').waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export selected' }).click()
    const csv = await readFile(await (await download).path(), 'utf8')
    expect(csv.split('\r\n').map((line) => line.split(',')[0])).toEqual([
      ...['Name', 'bulk d', 'bulk c', 'bulk b', ''],
    ])
    await select('bulk b').press('ArrowDown')
    await page.keyboard.press('Space')
    await page.getByText('4 selected').waitFor()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByText('3 keys changed.').waitFor()
    const states = async () => {
      const { body } = await server.call('GET', '/keys?q=bulk&include_disabled=true')
      return body.data.map(({ name, disabled }: { name: string; disabled: boolean }) => [name, disabled])
    }
    expect(await states()).toEqual([
      ['bulk d', true],
      ['bulk c', true],
      ['bulk b', true],
      ['bulk a', false],
    ])
    await page.getByRole('checkbox', { name: 'Select all rows' }).click()
    await page.getByRole('button', { name: 'Set tags' }).click()
    const set = page.getByRole('combobox', { name: 'Always set' })
    await set.fill('team=shop')
    await set.press('Enter')
    await button(page, 'Save').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await findKey('bulk a')).toMatchObject({ tags: { set: { team: 'shop' } } })

    await page.getByRole('button', { name: 'Columns' }).click()
    await page.getByRole('checkbox', { name: 'Owner' }).click()
    await page.getByRole('columnheader', { name: 'Owner' }).waitFor({ state: 'detached' })
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the limit that rejected a request is raised on its screen', async () => {
    const { body } = await server.call('POST', '/keys', { body: { name: 'Tight', limit: 0.000001 } })
    const refused = await chat(body.key, 'sandbox/echo')
    expect(refused.body.error.metadata.limit).toBe('key')
    await flushRequestLog(server.gateway)
    const listed = await server.call('GET', '/generations?status=refused')
    const { id } = listed.body.data.find((request: { key: { name: string } }) => request.key.name === 'Tight')
    const visitor = await arrive()
    const { page } = visitor
    await visitor.visit(`/requests/${id}`)
    await page.getByRole('button', { name: 'Raise limit' }).click()
    await page.getByRole('textbox', { name: 'Limit in total' }).fill('5')
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await button(page, 'Save').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await chat(body.key, 'sandbox/echo')).status).toBe(200)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('who changed a budget is found with one filter', async () => {
    const path = `/workspaces/${server.own.workspace.id}/budgets/daily`
    for (const limit_usd of [5, 10]) {
      const { status } = await server.call('PUT', path, { body: { limit_usd } })
      expect(status).toBe(200)
    }
    const visitor = await arrive()
    const { page } = visitor
    expect((await visitor.visit('/audit')).problems).toEqual([])
    const field = page.getByLabel('Search the audit log')
    const choose = async (text: string, option: RegExp) => {
      await field.fill(text)
      await page.getByRole('option', { name: option }).click()
    }
    await choose('target:budg', /^budget/)
    await page
      .getByText(/changed the limit of the daily budget of workspace .+ from \$5.00 to \$10.00\./)
      .waitFor()
    await visitor.settle()
    expect(await visitor.findViolations('light')).toEqual([])
    await page.getByRole('button', { name: 'Clear' }).click()
    await createKey('Audited')
    await choose('record:audited', /^Audited/)
    await page.getByText('record:Audited').waitFor()
    await page.getByText('created API key Audited.').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  const createKey = async (name: string) => {
    const { body } = await server.call('POST', '/keys', { body: { name } })
    return { hash: body.data.hash, secret: body.key }
  }
})
