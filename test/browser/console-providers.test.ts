import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { createMember } from '../../src/identity/members.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

const hostileName = '<img src=x onerror=alert(1)> account'
const answer = ({ headers }: { headers: Record<string, string> }) =>
  headers.authorization?.includes('wrong')
    ? { status: 401, json: { error: { message: `No such key: ${headers.authorization}` } } }
    : { json: { choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }], usage: {} } }
const phone = { viewport: { width: 390, height: 844 } }

describeInChromium('Providers in the console', (chromium) => {
  let server: TestServer
  let upstream: Upstream
  beforeAll(async () => {
    upstream = await startUpstream()
    upstream.setDefault(answer)
    server = await startTestServer('sqlite', { settings: settingsFor(upstream.url) })
  })
  afterAll(async () => {
    await server.stop()
    await upstream.stop()
  })

  const arrive = async (userId = server.own.owner.id, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(userId)
    return person
  }
  const listKeys = async () => (await server.call('GET', '/byok?provider=acme')).body.data
  const addKey = async (page: Page, name: string, secret: string) => {
    await page.getByRole('button', { name: 'Add a key' }).click()
    await page.getByLabel('Name').fill(name)
    await page.getByLabel(/^Secret/).fill(secret)
    await page.getByRole('button', { name: 'Add the key' }).click()
    await page.getByRole('listitem', { name }).waitFor()
  }

  test('a provider is added from the gallery, and a server that needs a key, without findings of axe', async () => {
    const person = await arrive()
    const { page } = person
    const dialog = page.getByRole('dialog')
    await person.open('/providers#add')
    await dialog.getByRole('button', { name: 'Other OpenAI-compatible server' }).waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    await dialog.getByRole('textbox', { name: 'Search providers' }).fill('groq')
    await dialog
      .getByRole('button', { name: 'Other OpenAI-compatible server' })
      .waitFor({ state: 'detached' })
    await dialog.getByRole('button', { name: 'Groq' }).click()
    await dialog.getByRole('textbox', { name: 'API key' }).fill('gsk-0123456789')
    await dialog.getByText('Used for the requests of every organization').waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await page.waitForURL((url) => url.pathname === '/providers/groq')
    const { data } = (await server.call('GET', '/catalogue/providers/groq')).body
    expect(data).toMatchObject({ enabled: true, edit: { fields: { api_key: '********' } } })
    await server.call('DELETE', '/catalogue/providers/groq')

    const list = ({ headers }: { headers: Record<string, string> }) =>
      headers.authorization === 'Bearer team-key'
        ? { json: { object: 'list', data: [{ id: 'small' }, { id: 'large' }] } }
        : { status: 401, json: { error: { message: 'A key is needed.' } } }
    upstream.enqueueFor('/models', list, list, list)
    await person.open('/providers#add')
    await dialog.getByRole('button', { name: 'Other OpenAI-compatible server' }).click()
    await page.keyboard.type(`${upstream.url}/v1`)
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Acme')
    await dialog.getByText('Slug: acme-2').waitFor()
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByText('Credential refused (401)').waitFor()
    await dialog.getByRole('button', { name: 'Add without models' }).waitFor()
    await dialog.getByRole('textbox', { name: 'API key' }).fill('team-key')
    await dialog.getByRole('button', { name: 'Test', exact: true }).click()
    await dialog.getByRole('checkbox', { name: 'large' }).uncheck()
    expect(await inspectWithAxe(page)).toEqual([])
    await dialog.getByLabel('Input price of small').fill('much')
    expect(await dialog.getByRole('button', { name: 'Add with 1 model' }).isDisabled()).toBe(true)
    await dialog.getByLabel('Input price of small').fill('')
    await dialog.getByRole('button', { name: 'Add with 1 model' }).click()
    await page.waitForURL((url) => url.pathname === '/providers/acme-2')
    const models = (await server.call('GET', '/catalogue/providers/acme-2/models')).status
    expect(models).toBe(200)
    const { in_force: model } = (await server.call('GET', '/catalogue/models/acme-2/small')).body.data
    expect(model.endpoints[0].pricing).toMatchObject({ prompt: '0', completion: '0' })
    expect((await server.call('GET', '/catalogue/models/acme-2/large')).status).toBe(404)
    await server.call('DELETE', '/catalogue/models/acme-2/small')
    await server.call('DELETE', '/catalogue/providers/acme-2')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the errors of the last hour are on the screen of the provider, in its words', async () => {
    upstream.setDefault({ status: 500, json: { error: { message: 'Out of memory' } } })
    await server.call('PATCH', '/workspaces/default', { body: { is_observability_io_logging_enabled: true } })
    const reply = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'acme/small', messages: [{ role: 'user', content: 'Hello' }] },
    })
    expect(reply.status).toBe(502)
    upstream.setDefault(answer)
    const { page } = await openProvider()
    const errors = page.getByRole('region', { name: 'Errors of the last hour' })
    await errors.getByText('Out of memory').first().waitFor()
    await errors
      .getByRole('row', { name: /Out of memory/ })
      .getByRole('link')
      .click()
    await page.getByText(/^Failed: /).waitFor()
    server.gateway.routing.health.forget('acme/small acme')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a key is tested before it is saved, ordered by drag and by keyboard, and deleted by name', async () => {
    const { page, open } = await openProvider()
    await page.getByRole('button', { name: 'Add a key' }).click()
    await page.getByLabel(/^Secret/).fill('sk-wrong-0123456789')
    await page.getByRole('button', { name: 'Test the secret' }).click()
    await page.getByText('Credential refused (401)').waitFor()
    await page.getByText('The provider says: “No such key: Bearer ***”').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    expect(await listKeys()).toEqual([])

    for (const name of [hostileName, 'Second', 'Third'])
      await addKey(page, name, `sk-right-${name.length}-0123456789`)
    await page.getByRole('button', { name: 'Move Third up' }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Third is tried as number 2 of 3.').waitFor({ state: 'attached' })
    await expectOrder(page, [hostileName, 'Third', 'Second'])
    await page
      .getByRole('listitem', { name: 'Second' })
      .dragTo(page.getByRole('listitem', { name: hostileName }))
    await expectOrder(page, ['Second', hostileName, 'Third'])

    await page.getByRole('button', { name: 'Test Second' }).click()
    await page.getByText('It works').waitFor()
    await page.getByRole('button', { name: `Actions for ${hostileName}` }).click()
    await page.getByRole('menuitem', { name: 'Disable' }).click()
    await page.getByText('disabled', { exact: true }).waitFor()
    await page.getByRole('button', { name: `Actions for ${hostileName}` }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill(hostileName)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('listitem', { name: hostileName }).waitFor({ state: 'detached' })
    await open('/providers')
    await page.getByText('Server, 2 BYOK keys').waitFor()
    expect(await page.content()).not.toContain('sk-right')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  const openProvider = async () => {
    const person = await arrive()
    await person.open('/providers/acme')
    return { page: person.page, open: (path: string) => person.open(path) }
  }
  const expectOrder = async (page: Page, names: string[]) => {
    for (const [index, name] of names.entries())
      await page.locator(`ol > li:nth-child(${index + 1})[aria-label="${name}"]`).waitFor()
    expect((await listKeys()).map((key: { name: string }) => key.name)).toEqual(names)
  }

  test('why an endpoint is left out is shown where it is looked for', async () => {
    const health = server.gateway.routing.health.getOrCreate('acme/small acme')
    health.recordSuccess(server.clock.now(), { firstTokenMs: 200, tokensPerSecond: 40 })
    health.recordFailure(server.clock.now(), {
      kind: 'rate_limit_exceeded',
      status: 429,
      retryAfterMs: 120_000,
    })
    const { page, open } = await openProvider()
    for (const path of ['/providers/acme', '/models/acme/small']) {
      await open(path)
      await page.getByText('cooling down').first().waitFor()
      await page
        .getByText(/The provider requested a pause.*Last error \(429\)/)
        .first()
        .waitFor()
      await page.getByRole('img', { name: /Median time to the first token by hour/ }).waitFor()
    }
    await open('/providers')
    await page.getByRole('row', { name: /Acme.*left out/ }).waitFor()
    server.gateway.routing.health.forget('acme/small acme')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a price is edited, shown against the price without the edit, and reverted', async () => {
    const { page, open } = await openProvider()
    await open('/models/acme/small')
    await page.getByRole('button', { name: 'Edit Endpoint acme' }).click()
    await page.getByLabel('In', { exact: true }).fill('2.5')
    await page.getByLabel('Out', { exact: true }).fill('7')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('row', { name: 'Input price, per million $2.50 $1.00' }).waitFor()
    const { data } = (await server.call('GET', '/catalogue/models/acme/small')).body
    expect(data.endpoint_edits[0].fields).toEqual({
      pricing: { prompt: '0.0000025', completion: '0.000007' },
    })
    await open('/models/changes')
    await page.getByRole('row', { name: 'Output price, per million $7.00 $2.00' }).waitFor()
    await open('/models/acme/small')
    await page.getByRole('button', { name: 'Revert Endpoint acme' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('acme')
    await page.getByRole('dialog').getByRole('button', { name: 'Revert' }).click()
    await page.getByText('not edited').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a model is added and deleted', async () => {
    const { page, open } = await openProvider()
    await open('/models')
    await page.getByRole('button', { name: 'Add a model' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Id', exact: true }).fill('ours/large')
    await dialog.getByRole('combobox', { name: 'Provider' }).click()
    await page.getByRole('option', { name: 'Acme' }).click()
    await dialog.getByRole('button', { name: 'Add the model' }).click()
    await page.getByRole('heading', { level: 1, name: 'ours/large' }).waitFor()
    await page.getByRole('button', { name: 'Delete The model' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('ours/large')
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { level: 1, name: 'Models' }).waitFor()
    expect((await server.call('GET', '/catalogue/models/ours/large')).status).toBe(404)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the screens fit a phone', async () => {
    const owner = await arrive(server.own.owner.id, phone)
    for (const path of [
      '/providers',
      '/providers/acme',
      '/models',
      '/models/acme/small',
      '/models/changes',
    ]) {
      await owner.open(path)
      await owner.page.getByRole('heading', { level: 1 }).waitFor()
      await owner.page.waitForLoadState('networkidle')
      const width = await owner.page.evaluate('document.documentElement.scrollWidth')
      expect([path, width]).toEqual([path, phone.viewport.width])
    }
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a member sees models and no providers, and edits nothing', async () => {
    const { id } = await createMember(server.gateway.db, server.clock, {
      organizationId: server.own.organization.id,
      email: 'bob@example.com',
      firstName: null,
      role: 'org:member',
    })
    const bob = await arrive(id)
    await bob.open('/models/acme/small')
    await bob.page.getByText('First token, median').waitFor()
    expect(await bob.page.getByRole('link', { name: 'Providers' }).count()).toBe(0)
    expect(await bob.page.getByRole('button', { name: /Edit|Add/ }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})

function settingsFor(url: string): string {
  const pricing = { prompt: '0.000001', completion: '0.000002' }
  const model = {
    id: 'acme/small',
    name: 'Small',
    context_length: 100_000,
    endpoints: [{ provider: 'acme', upstream_model: 'small', pricing }],
  }
  const provider = {
    slug: 'acme',
    name: 'Acme',
    base_url: `${url}/v1`,
    api_key: 'sk-acme-0123456789',
    dialects: ['chat'],
  }
  return JSON.stringify({ providers: [provider], models: [model] })
}
