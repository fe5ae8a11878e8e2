import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { deliver } from '../delivery/support.ts'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { startReceiver } from '../support/receiver.ts'
import { Person } from './person.ts'
import { Visitor } from './visitor.ts'

const hostileName = '<img src=x onerror=alert(1)> <script>alert(2)</script>'
const secret = 'canary-7d1f0a9c'

describeInChromium('Connections to other systems in the console', (chromium) => {
  let server: TestServer
  let status = 200
  const receiver = startReceiver(() => new Response('{}', { status }))
  beforeAll(async () => {
    const { host } = new URL(receiver.origin)
    server = await startTestServer('sqlite', { settings: `egress: { allow_private: ["${host}"] }` })
  })
  afterAll(async () => {
    await receiver.stop()
    await server.stop()
  })

  const arrive = async () => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    return person
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })
  const button = (place: Page | Locator, name: string | RegExp) =>
    place.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) })
  const hasText = async (page: Page, text: string) => (await page.content()).includes(text)
  const choose = async (page: Page, field: string, option: string | RegExp) => {
    await page.getByRole('combobox', { name: field }).click()
    await page.getByRole('option', { name: option }).click()
  }
  const confirm = async (page: Page, name: string, action: string) => {
    const dialog = page.getByRole('dialog')
    expect(await button(dialog, action).isDisabled()).toBe(true)
    await dialog.getByLabel('to confirm').fill(name)
    await button(dialog, action).click()
    await dialog.waitFor({ state: 'detached' })
  }

  test('a destination is added, tested, paused, repaired and deleted (R40)', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/observability')
    await page.getByRole('heading', { name: 'No destinations' }).waitFor()
    await button(page, 'Add a destination').click()
    await choose(page, 'Type', 'Webhook')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName)
    await page.getByLabel('URL').fill(`${receiver.origin}/in`)
    await button(page, 'Add a header').click()
    await page.getByLabel('Name of header 1').fill('x-team')
    await page.getByRole('textbox', { name: 'Value of header 1' }).fill(secret)
    await button(page, 'Add').click()
    await heading(page, hostileName).waitFor()

    await button(page, 'Send a test event').click()
    await page.getByText('The test was accepted').waitFor()
    expect(receiver.requests.at(-1)?.headers).toMatchObject({ 'x-team': secret, 'x-test-connection': 'true' })
    await button(page, 'Pause').click()
    await page.getByText('paused', { exact: true }).waitFor()
    await button(page, 'Resume').click()
    await page.getByText('active', { exact: true }).waitFor()

    status = 422
    await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: { model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] },
    })
    await deliver(server)
    await page.reload()
    await page.getByText('The destination does not accept what was sent.').waitFor()
    await button(page, /^Send again: gen-\w+$/).click()
    await page.getByText('1 event waits to be sent.').waitFor()
    status = 200
    await deliver(server)
    await page.reload()
    await page.getByText('None.', { exact: true }).waitFor()

    await page.getByLabel('Leave out prompts and replies').check()
    await page.getByLabel('Share of the requests').fill('25')
    await button(page, 'Add a filter').click()
    await page.getByLabel('Value of rule 1 of group 1').fill('echo')
    await button(page, 'Save').click()
    await page.getByText('Saved.').waitFor()
    expect(await hasText(page, secret)).toBe(false)
    const { data } = (await owner.read('/observability/destinations')).body
    expect(data).toEqual([
      expect.objectContaining({
        privacy_mode: true,
        sampling_rate: 0.25,
        filter_rules: expect.objectContaining({
          groups: [{ logic: 'and', rules: [{ field: 'model', operator: 'contains', value: 'echo' }] }],
        }),
        secrets_held_back: false,
      }),
    ])

    await owner.open(`/observability/${data[0].id}`)
    await button(page, 'Delete').click()
    await confirm(page, hostileName, 'Delete')
    await page.getByRole('heading', { name: 'No destinations' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the audit log gets a destination, which is tested, changed, disabled and deleted', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/audit')
    await page.getByRole('link', { name: 'Destinations', exact: true }).click()
    await page.getByRole('heading', { name: 'No destinations yet' }).waitFor()
    await button(page, 'Add a destination').click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName)
    await page.getByLabel('URL').fill(`${receiver.origin}/audit`)
    await page.getByRole('combobox', { name: 'Only actions that begin with' }).fill('audit_destination.')
    await page.keyboard.press('Enter')
    await button(page, 'Add').click()
    await page.getByText(`Webhook ${receiver.origin}/audit, not signed`).waitFor()
    await page.getByText('Actions that begin with audit_destination. of the organization').waitFor()

    await button(page, `Test ${hostileName}`).click()
    await button(page, 'Send the test').click()
    await page.getByText('The test was accepted').waitFor()
    expect(receiver.requests.at(-1)?.path).toBe('/audit')
    await button(page.getByRole('dialog'), 'Close').first().click()

    await button(page, `Edit ${hostileName}`).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('SIEM')
    await page.getByRole('switch', { name: 'Enabled' }).uncheck()
    await button(page, 'Save').click()
    await page.getByText('disabled', { exact: true }).waitFor()
    expect((await owner.read('/audit/destinations')).body.data).toMatchObject([
      { name: 'SIEM', enabled: false, action_prefixes: ['audit_destination.'], chain: 'organization' },
    ])

    await owner.open('/audit/destinations')
    await button(page, 'Delete SIEM').click()
    await confirm(page, 'SIEM', 'Delete')
    await page.getByRole('heading', { name: 'No destinations yet' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a syslog server gets the audit log; who may only read it is offered no change', async () => {
    const owner = await arrive()
    await owner.open('/audit/destinations')
    await button(owner.page, 'Add a destination').click()
    await owner.page.getByText('Syslog', { exact: true }).click()
    await owner.page.getByRole('textbox', { name: 'Name', exact: true }).fill('Logs')
    await owner.page.getByRole('textbox', { name: 'Host' }).fill('logs.example.com')
    await choose(owner.page, 'Entries', /^Server events/)
    await button(owner.page, 'Add').click()
    await owner.page.getByText('Syslog logs.example.com:6514, over TLS').waitFor()

    const { token } = await createSessionCaller(server, { workspaces: {}, roles: [{ roleId: 'auditor' }] })
    const reader = await Visitor.arrive(server, chromium(), { token })
    const { problems, text } = await reader.visit('/audit/destinations')
    expect(problems).toEqual([])
    expect(text).toContain('Every action of the installation')
    expect(await reader.page.getByRole('button', { name: /^(Add|Edit|Delete|Test) / }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a rule of notifications is changed, tested and deleted', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/notifications')
    await button(page, 'Edit Low credits').click()
    await page.getByLabel('Threshold, in USD').fill('250')
    await page.getByLabel('Webhook', { exact: true }).fill(`${receiver.origin}/notify`)
    await button(page, 'Save').click()
    await page.getByText('The organization has less than $250 of credits left.').waitFor()
    await button(page, 'Test Low credits').click()
    await button(page, 'Send the test').click()
    await page.getByText('The test was accepted').waitFor()
    expect(receiver.requests.at(-1)?.path).toBe('/notify')
    await button(page.getByRole('dialog'), 'Close').first().click()
    await button(page, 'Delete Low credits').click()
    await confirm(page, 'Low credits', 'Delete')
    const { data } = (await owner.read('/notifications/rules')).body
    expect(data.map(({ kind }: { kind: string }) => kind)).not.toContain('low_balance')
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('single sign-on is set up, and enforcing it warns before it locks out (R40)', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/identity')
    await button(page, 'Add a connection').click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName)
    await page.getByRole('textbox', { name: 'Issuer' }).fill(receiver.origin)
    await page.getByLabel('Client id').fill('headgate')
    await page.getByRole('textbox', { name: 'Client secret' }).fill(secret)
    await button(page, 'Add a mapping').click()
    await page.getByLabel('Value of mapping 1').fill('engineering')
    await choose(page, 'Where, of mapping 1', /Default/)
    await button(page, 'Add').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('New people are refused · 1 mapping').waitFor()
    expect(await hasText(page, secret)).toBe(false)
    await button(page, `Test ${hostileName}`).click()
    await button(page, 'Test').click()
    await page.getByText('This prevents people from signing in').waitFor()
    await button(page.getByRole('dialog'), 'Close').first().click()

    await button(page, 'Add a domain').click()
    await page.getByRole('textbox', { name: 'Domain' }).fill('example.com')
    await button(page, 'Add').click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    const [domain] = (await server.call('GET', '/organization/sso/domains')).body.data
    await button(page, 'Verify example.com').click()
    await page.getByText('has no TXT record').waitFor()
    Object.assign(server.gateway.identity, { resolveTxt: async () => [domain.txt_record.value] })
    await button(page, 'Verify example.com').click()
    await page.getByText('verified', { exact: true }).waitFor()

    await page.getByText('No member could sign in if the provider fails').waitFor()
    expect(await button(page, 'Enforce single sign-on').isDisabled()).toBe(true)
    await page.getByRole('combobox', { name: 'Admins who may use other methods' }).click()
    await page.getByRole('option').first().click()
    await page.keyboard.press('Escape')
    await button(page, 'Enforce single sign-on').click()
    await confirm(page, server.own.organization.name, 'Enforce')
    await page.getByText('Single sign-on is enforced.').waitFor()
    await button(page, 'Stop enforcing').click()
    await page.getByText('Single sign-on is not enforced.').waitFor()
    await button(page, `Remove ${hostileName}`).click()
    await confirm(page, hostileName, 'Remove')
    await page.getByRole('heading', { name: 'No connection yet' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a SCIM token is shown once, rotated and revoked', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/identity?tab=scim')
    await button(page, 'Create a token').click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName)
    await button(page, 'Create').click()
    const shown = await page.getByText(/^scim-hg-v1-[0-9a-f]{64}$/).textContent()
    await page.getByLabel('I have stored it').check()
    await button(page, 'Done').click()
    expect(await hasText(page, shown ?? '')).toBe(false)
    await button(page, `Rotate ${hostileName}`).click()
    await page.getByText('works until you revoke it').waitFor()
    await page.getByLabel('I have stored it').check()
    await button(page, 'Done').click()
    await button(page, /^Revoke /)
      .first()
      .click()
    await confirm(page, hostileName, 'Revoke')
    expect((await owner.read('/scim/tokens')).body.total_count).toBe(1)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a group is mapped, however many there are', async () => {
    const { gateway, own } = server
    const at = new Date().toISOString()
    const name = (index: number) => `Group ${String(index).padStart(3, '0')}`
    const groups = Array.from({ length: 250 }, (_, index) => ({
      id: crypto.randomUUID(),
      organization_id: own.organization.id,
      external_id: null,
      display_name: name(index),
      created_at: at,
      updated_at: at,
    }))
    await gateway.db.insertInto('scim_groups').values(groups).execute()
    const owner = await arrive()
    const { page } = owner
    await owner.open('/identity?tab=scim')
    for (const index of [0, 124, 249]) {
      await button(page, 'Map a group').click()
      await page.getByRole('combobox', { name: 'Group' }).fill(name(index))
      await page.getByRole('option', { name: name(index) }).click()
      await choose(page, 'Workspace', own.workspace.name)
      await button(page, 'Map').click()
      await button(page, new RegExp(`^Make admin: ${name(index)} in `)).waitFor()
    }
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('workloads get an issuer and a policy', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/identity?tab=workload')
    await button(page, 'Add an issuer').click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(hostileName)
    await page.getByRole('textbox', { name: 'Issuer' }).fill('https://ci.example.com')
    await button(page, 'Add').click()
    await button(page, 'Add a policy').click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Deploy')
    await choose(page, 'Issuer', hostileName)
    await page.getByLabel('Audience').fill('https://gate.example.com')
    await page.getByLabel('Condition').fill('subject.startsWith("repo:acme/app:")')
    await page.getByRole('combobox', { name: 'Acts with the key' }).click()
    await page.getByRole('option').first().click()
    await button(page, 'Add').click()
    await button(page, 'Delete Deploy').click()
    await confirm(page, 'Deploy', 'Delete')
    await button(page, `Delete ${hostileName}`).click()
    await confirm(page, hostileName, 'Delete')
    await page.getByRole('heading', { name: 'No issuers yet' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('privacy is restricted and locked, and a plugin becomes a default', async () => {
    const owner = await arrive()
    const { page } = owner
    await owner.open('/organization')
    const privacy = page.getByRole('region', { name: 'Privacy' })
    await privacy.getByLabel('No paid endpoints that may train on prompts').check()
    await button(privacy, 'Save').click()
    await page.getByText('Saved.').waitFor()
    await button(privacy, 'Lock').click()
    await button(privacy, 'Unlock').waitFor()
    expect(await privacy.getByLabel('All other models').isDisabled()).toBe(true)
    await button(privacy, 'Unlock').click()
    await confirm(page, server.own.organization.name, 'Unlock')
    await button(privacy, 'Lock').waitFor()

    const plugins = page.getByRole('region', { name: 'Default plugins' })
    await choose(page, 'Add a plugin', /^response-healing/)
    await plugins.getByLabel('Settings of response-healing, as JSON').fill('[')
    await page.getByText('Must be a JSON object').waitFor()
    await plugins.getByLabel('Settings of response-healing, as JSON').fill('')
    await plugins.getByLabel('Requests cannot change response-healing').check()
    await button(plugins, 'Save').click()
    await page.getByText('Saved.').first().waitFor()
    expect((await owner.read('/organization/privacy')).body.data).toMatchObject({
      enable_paid_model_training: false,
      locked: false,
    })
    expect((await owner.read('/organization/plugins')).body.data.plugins).toEqual([
      { id: 'response-healing', enabled: true, prevent_overrides: true },
    ])
    expect(await chromium().takeProblems()).toEqual([])
  })
})
