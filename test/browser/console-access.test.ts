import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { createKey } from '../../src/identity/keys.ts'
import { createMember } from '../../src/identity/members.ts'
import { utcDay } from '../../src/platform/time/time.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { recordSpend } from '../support/spend.ts'
import { Person } from './person.ts'

const hostileName = '<img src=x onerror=alert(1)> <script>alert(2)</script>'
const phone = { viewport: { width: 390, height: 844 } }

describeInChromium('Access in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const addMember = (email: string, firstName: string | null = null) =>
    createMember(server.gateway.db, server.clock, {
      organizationId: server.own.organization.id,
      email,
      firstName,
      role: 'org:member',
    })
  const arrive = async (userId: string, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(userId)
    return person
  }
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 1, name, exact: true })

  test('an admin invites, promotes and removes a person, and the log says so', async () => {
    const ada = await addMember('ada@example.com', hostileName)
    const owner = await arrive(server.own.owner.id)
    const { page } = owner
    await owner.open('/members')
    await page.getByRole('button', { name: 'Invite a person' }).click()
    await page.getByLabel('E-mail address').fill('grace@example.com')
    await page.getByRole('button', { name: 'Invite', exact: true }).click()
    await page.getByText('/invitation?token=').waitFor()
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('button', { name: 'Revoke the invitation of grace@example.com' }).click()
    await page.getByText('revoked').waitFor()

    await page.getByRole('link', { name: hostileName }).click()
    await heading(page, hostileName).waitFor()
    await page.getByRole('button', { name: 'Change name or role' }).click()
    await page.getByRole('radio', { name: 'Admin' }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByText('Admin', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    const confirm = page.getByRole('dialog').getByRole('button', { name: 'Remove' })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByRole('dialog').getByRole('textbox').fill('ada@example.com')
    await confirm.click()
    await heading(page, 'Members').waitFor()

    await owner.open(`/audit?target_id=${ada.id}&action=member.update`)
    await page.getByRole('button', { name: /^Details: .* changed the role of member/ }).click()
    const change = page.getByRole('row', { name: /^role/ })
    expect(await change.getByRole('cell').allTextContents()).toEqual(['role', 'org:member', 'org:admin'])
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('the limit for all keys of a person is set, shown with what is spent, and removed', async () => {
    const { gateway, own, clock } = server
    const person = await addMember('limited@example.com', 'Lin')
    const owner = await arrive(own.owner.id)
    const { page } = owner
    const readLimit = async () => (await server.call('GET', `/organization/members/${person.id}`)).body.data
    const panel = page.getByRole('region', { name: 'Limit for all keys' })
    await owner.open(`/members/${person.id}`)
    await panel.getByText('No limit.').waitFor()
    await panel.getByRole('button', { name: 'Change limit' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Spending limit').fill('10')
    await dialog.getByLabel('Resets').click()
    await page.getByRole('option', { name: 'every month' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('$0 of $10.00 a month, $10.00 left').waitFor()
    expect(await readLimit()).toMatchObject({ limit: 10, limit_reset: 'monthly' })

    const { key } = await createKey(gateway.db, clock, {
      organizationId: own.organization.id,
      workspaceId: own.workspace.id,
      kind: 'inference',
      creatorUserId: person.id,
      name: 'spending',
    })
    await recordSpend(gateway, key, utcDay(clock.now()), { credits: 4 })
    await owner.open(`/members/${person.id}`)
    await panel.getByText('$4.00 of $10.00 a month, $6.00 left').waitFor()

    await panel.getByRole('button', { name: 'Change limit' }).click()
    await dialog.getByLabel('Spending limit').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await panel.getByText('No limit.').waitFor()
    expect(await readLimit()).toMatchObject({ limit: null, limit_reset: null })
    expect(await chromium().takeProblems()).toEqual([])
  })

  test("a role of one's own is created, changed and deleted", async () => {
    const owner = await arrive(server.own.owner.id)
    const { page } = owner
    const role = page.getByRole('button', { name: hostileName })
    const readRoles = async () =>
      (await server.call('GET', '/roles')).body.data.filter(
        ({ is_built_in }: { is_built_in: boolean }) => !is_built_in,
      )
    await owner.open('/roles')
    await page.getByRole('button', { name: 'Create a role' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(hostileName)
    await page.getByRole('checkbox', { name: 'budgets:read', exact: true }).check()
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await role.click()
    await page.getByText('budgets:read', { exact: true }).filter({ visible: true }).first().waitFor()
    expect(await readRoles()).toMatchObject([{ name: hostileName, permissions: ['budgets:read'] }])

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByRole('checkbox', { name: 'budgets:write', exact: true }).check()
    await page.getByRole('button', { name: 'Save for everyone who has it' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(await readRoles()).toMatchObject([{ permissions: ['budgets:read', 'budgets:write'] }])

    await page.getByRole('button', { name: 'Delete', exact: true }).filter({ visible: true }).click()
    await page.getByLabel(/to confirm/).fill(hostileName)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await role.waitFor({ state: 'detached' })
    expect(await readRoles()).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  })

  test("sessions are ended: one of one's own, and all of another person", async () => {
    const eve = await addMember('eve@example.com', 'Eve')
    const there = await arrive(eve.id)
    const here = await arrive(eve.id)
    await here.open('/account')
    await here.page.getByRole('button', { name: /^Sign out (?!everywhere)/ }).click()
    await here.page.getByRole('button', { name: 'Sign out everywhere else' }).waitFor({ state: 'detached' })
    await there.open('/')
    await there.page.waitForURL(({ pathname }) => pathname === '/signin')

    const owner = await arrive(server.own.owner.id)
    await owner.open(`/members/${eve.id}`)
    await owner.page.getByRole('button', { name: 'Sign Eve out everywhere' }).click()
    await owner.page.getByText('No active sessions.').waitFor()
    await here.open('/')
    await here.page.waitForURL(({ pathname }) => pathname === '/signin')
    // The browser reports the 401 that leads to the sign-in page.
    expect((await chromium().takeProblems()).filter((problem) => !problem.includes('401'))).toEqual([])
  })

  test('a guardrail is tried on a text before it is saved', async () => {
    const owner = await arrive(server.own.owner.id)
    const { page } = owner
    await owner.open('/guardrails')
    await page.getByRole('button', { name: 'Create a guardrail' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(hostileName)
    await page.getByRole('button', { name: 'Create', exact: true }).click()
    await heading(page, hostileName).waitFor()
    await page.getByRole('button', { name: 'Add pattern' }).click()
    await page.getByLabel('Regular expression').fill('PROJ-[0-9]+')
    await page.getByLabel('Message', { exact: true }).fill('<b>PROJ-42</b>')
    await page.locator('mark', { hasText: /^PROJ-42$/ }).waitFor()
    await page.getByRole('combobox', { name: 'Allowed models' }).fill('sandbox/echo')
    await page.getByRole('combobox', { name: 'Allowed models' }).press('Enter')
    await page.getByRole('combobox', { name: 'E-mail addresses in replies' }).click()
    await page.getByRole('option', { name: 'Redact' }).click()
    await page.getByLabel('Spending limit').fill('5')
    await page.getByText('JSON', { exact: true }).click()
    const json = page.getByLabel('Guardrail as JSON')
    const text = await json.inputValue()
    expect(JSON.parse(text)).toMatchObject({ limit_usd: 5, allowed_models: ['sandbox/echo'] })
    await json.fill('{"name": "x", "nope": 1}')
    await page.getByText('A guardrail has no field nope.').waitFor()
    expect(await page.getByRole('button', { name: 'Review and save' }).isDisabled()).toBe(true)
    await json.fill(JSON.stringify({ ...JSON.parse(text), enforce_zdr_other: true }))
    await page.getByText('Form', { exact: true }).click()
    expect(await page.getByRole('switch', { name: 'All other models' }).isChecked()).toBe(true)
    await page.getByRole('button', { name: 'Review and save' }).click()
    await page.getByText('Applies to nothing yet.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    const { data } = (await owner.read('/guardrails')).body
    expect(data).toEqual([
      expect.objectContaining({
        name: hostileName,
        content_filters: [expect.objectContaining({ pattern: 'PROJ-[0-9]+', action: 'flag' })],
        content_filter_builtins: [expect.objectContaining({ slug: 'email', scope: 'output' })],
        allowed_models: ['sandbox/echo'],
        limit_usd: 5,
        reset_interval: 'monthly',
        enforce_zdr_other: true,
      }),
    ])
    expect(await chromium().takeProblems()).toEqual([])
  })

  test.each(['/members', '/roles', '/workspaces', '/guardrails', '/audit'])(
    '%s fits a phone',
    async (path) => {
      const owner = await arrive(server.own.owner.id, phone)
      await owner.open(path)
      await owner.page.getByRole('heading', { level: 1 }).waitFor()
      await owner.page.waitForLoadState('networkidle')
      expect(await owner.page.evaluate('document.documentElement.scrollWidth')).toBe(phone.viewport.width)
      expect(await chromium().takeProblems()).toEqual([])
    },
  )

  test('what a member may not do is not offered', async () => {
    const bob = await arrive((await addMember('bob@example.com')).id)
    await bob.open('/workspaces')
    await bob.page.getByRole('heading', { level: 1, name: 'Workspaces' }).waitFor()
    const screens = bob.page.getByRole('navigation', { name: 'Screens' })
    const offered = await screens.getByRole('link').allTextContents()
    expect(offered).toContain('API keys')
    for (const label of ['Credits', 'Budgets', 'Members', 'Roles', 'Guardrails', 'Audit log']) {
      expect(offered).not.toContain(label)
    }
    expect(await bob.page.getByRole('button', { name: 'Create a workspace' }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  })
})
