import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { createMember } from '../../src/identity/members.ts'
import { computeTotp, totpStepAt } from '../../src/platform/crypto/totp.ts'
import { decodeBase32 } from '../support/base32.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { vendorReply } from '../support/replies.ts'
import { startUpstream, type Upstream } from '../support/upstream.ts'
import { Person } from './person.ts'

const phone = { viewport: { width: 390, height: 844 } }
const hostileName = '<img src=x onerror=alert(1)> <script>alert(2)</script>'

describeInChromium('The first screens of the console', (chromium) => {
  let server: TestServer
  let upstream: Upstream
  const people: Person[] = []
  beforeEach(async () => {
    upstream = await startUpstream()
    upstream.setDefault(({ headers }) =>
      headers.authorization === 'Bearer sk-wrong-0123456789'
        ? { status: 401, json: { error: { message: 'invalid key' } } }
        : { json: vendorReply('chat', 'text').body },
    )
    server = await startTestServer('sqlite', { settings: settingsFor(upstream.url) })
  })
  afterEach(async () => {
    // The screens ask the server again and again.
    for (const { page } of people.splice(0)) await page.context().close()
    await server.stop()
    await upstream.stop()
  })

  const arriveAs = async (member: { id: string }, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    people.push(person)
    await person.signInWithLink(member.id)
    return person
  }
  const arriveAsOwner = (options = {}) => arriveAs(server.own.owner, options)
  const arriveAsMember = async () => {
    const { clock, gateway, own } = server
    const person = { organizationId: own.organization.id, email: 'bob@example.com' }
    return arriveAs(await createMember(gateway.db, clock, { ...person, role: 'org:member' }))
  }

  test('from the link of the first start to the first reply', async () => {
    const { page } = await arriveAsOwner()
    await page.getByRole('heading', { level: 1, name: 'Get started' }).waitFor()
    await page.getByText('Waiting for your first request…').waitFor()

    await page.getByRole('button', { name: /Create an API key/ }).click()
    await page.getByLabel('Name of the key').fill('Journey')
    await page.getByRole('button', { name: 'Create a key' }).click()
    const secret = await readSecret(page)
    expect(secret).toMatch(/^sk-hg-v1-[0-9a-f]{64}$/)

    await page.getByText('Your key is filled in.').waitFor()
    const command = (await page.locator('pre', { hasText: 'curl' }).textContent()) ?? ''
    expect(command).toContain(secret)
    expect(await runCommand(command)).toMatchObject({ choices: [{ message: { content: 'Hello' } }] })
    await page.getByText('The first request has arrived').waitFor()

    await page.getByRole('button', { name: 'Show the overview' }).click()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    await page.getByRole('group', { name: 'Requests', exact: true }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a test request with the session, and an invitation', async () => {
    const { page } = await arriveAsOwner()
    await page.getByRole('button', { name: /Send the first request/ }).click()
    await page.getByRole('button', { name: 'Send a test request' }).click()
    await page.getByText('sandbox/echo answered').waitFor()
    await page.getByText('Hello from the console', { exact: true }).waitFor()

    // The only step that is left opens.
    await page.getByLabel('E-mail address').fill('ada@example.com')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.locator('pre', { hasText: 'token=' }).waitFor()
    await page.getByText('1 invited').waitFor()
    // The link is shown only once, so it stays; the next visit begins with the overview.
    await page.getByRole('button', { name: 'Show the overview' }).waitFor()
    expect(await page.locator('pre', { hasText: 'token=' }).isVisible()).toBe(true)
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a key of a provider is added and tested, and a refusal is explained', async () => {
    const { page } = await arriveAsOwner()
    await page.getByRole('button', { name: /Add a provider/ }).click()
    await page.getByRole('button', { name: 'Choose a provider' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('textbox', { name: 'Search providers' }).fill('acme')
    await page.keyboard.press('Enter')
    await dialog.getByText('One workspace').click()
    const key = dialog.getByRole('textbox', { name: 'API key' })
    const testKey = dialog.getByRole('button', { name: 'Test the key of Acme' })
    await key.fill('sk-wrong-0123456789')
    await testKey.click()
    await dialog.getByText('Credential refused (401)').waitFor()
    await key.fill('sk-right-0123456789')
    await testKey.click()
    await dialog.getByText('It works').waitFor()
    expect((await server.call('GET', '/byok')).body.data).toEqual([])
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()

    await page.getByRole('button', { name: 'Test the key of acme', exact: true }).click()
    await page.getByText('It works').waitFor()
    expect((await server.call('GET', '/byok')).body.data).toMatchObject([{ provider: 'acme' }])
    expect(await page.content()).not.toContain('sk-right-0123456789')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a key is created with a limit, rotated, disabled and deleted, and its name is only text', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/keys')
    await page.getByRole('button', { name: 'Create a key' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(hostileName)
    await page.getByLabel('Spending limit').fill('5')
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    const first = await readSecret(page)
    await page.getByRole('cell', { name: '$0 of $5.00' }).waitFor()

    const chooseAction = async (action: string) => {
      await page
        .getByRole('button', { name: `Actions for ${hostileName}` })
        .first()
        .click()
      await page.getByRole('menuitem', { name: action }).click()
    }
    await chooseAction('Rotate')
    await page.getByRole('combobox', { name: 'The old secret' }).click()
    await page.getByRole('option', { name: 'works for another hour' }).click()
    await page.getByRole('button', { name: 'Rotate', exact: true }).click()
    await page.getByText(/^The old secret works until/).waitFor()
    const second = await readSecret(page)
    const statusOf = async (key: string) => (await server.call('GET', '/key', { key })).status
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 200])
    const { body } = await server.call('GET', '/keys')
    const rotated = body.data.filter(({ name }: { name: string }) => name === hostileName)
    expect(rotated).toMatchObject([{ disabled: false, limit: 5 }])

    await page.getByRole('link', { name: hostileName }).click()
    await page.getByRole('heading', { level: 1, name: hostileName }).waitFor()
    await page.getByText('No guardrails apply to this key.').waitFor()
    await chooseAction('Delete')
    const remove = page.getByRole('button', { name: 'Delete', exact: true })
    expect(await remove.isDisabled()).toBe(true)
    await page.getByLabel(/to confirm/).fill(hostileName)
    await remove.click()
    await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
    expect((await server.call('GET', `/keys/${rotated[0].hash}`)).status).toBe(404)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a passkey and an authenticator app are set up on the account screen', async () => {
    const person = await arriveAsMember()
    const { page } = person
    await person.open('/account')
    await page.getByLabel('Name of the new passkey').fill('Laptop')
    await page.getByRole('button', { name: 'Create a passkey' }).click()
    await page.getByRole('button', { name: 'Remove Laptop' }).waitFor()

    await page.getByRole('button', { name: 'Set up an app' }).click()
    await page.getByRole('img', { name: 'QR code for the authenticator app' }).waitFor()
    const secret =
      (await page
        .locator('code')
        .filter({ hasText: /^[A-Z2-7]{32}$/ })
        .textContent()) ?? ''
    const code = computeTotp(decodeBase32(secret), totpStepAt(server.clock.now()))
    await page.getByLabel('Authenticator code').fill(code)
    await page.getByRole('button', { name: 'Confirm' }).click()
    expect((await readSecret(page)).split('\n')).toHaveLength(10)
    await page.getByText('10 recovery codes left').waitFor()

    await person.signOut()
    await person.signInWithPasskey()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a member is not offered what only an admin may do', async () => {
    const person = await arriveAsMember()
    await person.page.getByRole('button', { name: /Connect your application/ }).waitFor()
    expect(await person.page.getByRole('button', { name: /Invite a colleague|Add a provider/ }).count()).toBe(
      0,
    )
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('on a phone nothing is wider than the screen', async () => {
    const person = await arriveAsOwner(phone)
    const { body } = await server.call('GET', '/keys')
    for (const path of ['/', '/keys', `/keys/${body.data[0].hash}`, '/account']) {
      await person.open(path)
      await person.waitUntilLoaded()
      const overflow = 'document.documentElement.scrollWidth - window.innerWidth'
      expect([path, await person.page.evaluate(overflow)]).toEqual([path, 0])
    }
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})

/** The installation has a key as well, so the provider answers even if it refuses the new one. */
function settingsFor(url: string): string {
  const endpoint = {
    provider: 'acme',
    upstream_model: 'small',
    pricing: { prompt: '0.000001', completion: '0.000002' },
  }
  const model = { id: 'acme/small', name: 'Small', context_length: 100_000, endpoints: [endpoint] }
  const provider = {
    slug: 'acme',
    name: 'Acme',
    base_url: `${url}/v1`,
    api_key: 'sk-acme',
    dialects: ['chat'],
  }
  return JSON.stringify({ providers: [provider], models: [model] })
}

/** Reads what is shown once, and acknowledges it. */
async function readSecret(page: Page): Promise<string> {
  const dialog = page.getByRole('dialog')
  const secret = (await dialog.locator('pre').textContent()) ?? ''
  const done = dialog.getByRole('button', { name: 'Done' })
  expect(await done.isDisabled()).toBe(true)
  await dialog.getByLabel('I have stored it').check()
  await done.click()
  return secret
}

async function runCommand(command: string): Promise<unknown> {
  const shell = Bun.spawn(['sh', '-c', command], { stdout: 'pipe', stderr: 'ignore' })
  return JSON.parse(await new Response(shell.stdout).text())
}
