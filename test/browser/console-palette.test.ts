import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

const apple = "Object.defineProperty(navigator, 'platform', { get: () => 'MacIntel' })"

describeInChromium('The command palette', (chromium) => {
  let server: TestServer
  let generationId = ''
  let requestId = ''
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    const { body, headers } = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      headers: { 'x-session-id': 'trip-2026-7' },
      body: { model: 'sandbox/echo', user: 'customer-42', messages: [{ role: 'user', content: 'Hello' }] },
    })
    generationId = body.id
    requestId = headers.get('x-request-id') ?? ''
  })
  afterAll(() => server.stop())

  const arrive = async (path: string) => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    await person.open(path)
    await person.waitUntilLoaded()
    const { page } = person
    const field = page.getByRole('dialog').getByRole('textbox')
    const search = async (text: string) => {
      await page.keyboard.press('Control+k')
      await field.fill(text)
    }
    return { person, page, search }
  }

  test('opens the record of any ID that is pasted', async () => {
    const { page, search } = await arrive('/keys')
    const { managementKey } = server.own
    const entries = await server.call('GET', '/audit?limit=1', { key: managementKey })
    const entryId = entries.body.data[0].id
    const members = await server.call('GET', '/organization/members', { key: managementKey })
    const memberId = members.body.data[0].id
    const keys = await server.call('GET', '/keys', { key: managementKey })
    const { hash } = keys.body.data[0]
    const records: [id: string, path: string][] = [
      [generationId, `/requests/${generationId}`],
      [requestId, `/requests/${generationId}`],
      ['trip-2026-7', '/sessions/trip-2026-7'],
      [entryId, '/audit'],
      [memberId, `/members/${memberId}`],
      [hash, `/keys/${hash}`],
    ]
    for (const [id, path] of records) {
      await search(id)
      const found = page.getByRole('dialog').getByRole('button')
      await found.first().waitFor()
      await found.first().click()
      await page.waitForURL((url) => url.pathname === path)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('runs the actions that the person may do, and only these', async () => {
    const { page, search } = await arrive('/models')
    await search('invite')
    expect(await inspectWithAxe(page)).toEqual([])
    await page.getByRole('button', { name: 'Invite member' }).click()
    await page.getByRole('dialog', { name: 'Invite a person' }).waitFor()
    await page.keyboard.press('Escape')
    await page.waitForURL((url) => url.pathname === '/members' && url.hash === '')
    await search('create limit')
    await page.getByRole('button', { name: 'Create limit' }).click()
    await page.getByRole('dialog', { name: 'Create a limit' }).waitFor()

    const { member } = await createSessionCaller(server, { workspaces: {} })
    const other = await Person.arrive(server, chromium())
    await other.signIn(member.id)
    await other.open('/')
    await other.waitUntilLoaded()
    await other.page.keyboard.press('Control+k')
    await other.page.getByRole('dialog').getByRole('button', { name: 'Account' }).waitFor()
    expect(await other.page.getByRole('button', { name: 'Invite member' }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('leads back to recent places', async () => {
    const { page, person, search } = await arrive('/requests?status=error')
    await search('Budgets')
    await page.getByRole('button', { name: 'Budgets', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor()
    await search('')
    await page.getByRole('button', { name: 'Requests /requests' }).click()
    await page.waitForURL((url) => url.pathname === '/requests' && url.search === '?status=error')
    await person.waitUntilLoaded()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test.each([
    ['Ctrl', ''],
    ['⌘', apple],
  ])(
    'lists the shortcuts with %s',
    async (key, script) => {
      const person = await Person.arrive(server, chromium())
      if (script) await person.page.addInitScript(script)
      await person.signIn(server.own.owner.id)
      const { page } = person
      await person.open('/keys')
      await person.waitUntilLoaded()
      await page.keyboard.press('Shift+?')
      const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
      await list.getByText('List of requests').waitFor()
      await list.getByText(key, { exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Search' }).textContent()).toContain(`${key} K`)
      expect(await inspectWithAxe(page)).toEqual([])
      await page.keyboard.press('Escape')
      await list.waitFor({ state: 'detached' })
      expect(await chromium().takeProblems()).toEqual([])
    },
    60_000,
  )
})
