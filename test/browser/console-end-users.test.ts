import { afterAll, beforeAll, expect, test } from 'bun:test'
import { insertLine } from '../../src/ledger/bill-lines.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const endUser = 'customer/42'

describeInChromium('Sessions and end users in the console', (chromium) => {
  let server: TestServer
  const ids: string[] = []
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    for (const content of ['Where is my order?', 'Thank you sandbox:error=500']) {
      const reply = await server.call('POST', '/chat/completions', {
        key: server.own.inferenceKey,
        body: {
          model: 'sandbox/echo',
          messages: [{ role: 'user', content }],
          user: endUser,
          session_id: 'support, case 7',
        },
      })
      ids.push(reply.headers.get('x-generation-id') ?? '')
    }
    const tool = { kind: 'tool', name: 'web_search', provider: 'exa', usage: null, nestedId: null } as const
    const figures = { quantity: 5, cost: 5_000_000n, durationMs: 40 }
    await insertLine(server.gateway.db, ids[0] ?? '', 0, { ...tool, ...figures })
  })
  afterAll(() => server.stop())

  const arrive = async () => {
    const person = await Person.arrive(server, chromium())
    await person.signIn(server.own.owner.id)
    return person
  }

  test('a session is a timeline of its requests with their tools', async () => {
    const { page } = await openWith(await arrive(), `/requests/${ids[0]}`)
    await page.getByRole('link', { name: 'support, case 7' }).click()
    await page.getByRole('heading', { name: 'Session support, case 7' }).waitFor()
    const rows = page.getByRole('table', { name: 'Timeline' }).getByRole('row')
    await rows.nth(3).waitFor()
    expect(await rows.count()).toBe(4)
    expect(await rows.nth(2).innerText()).toContain('web_search × 5')
    expect(await rows.nth(3).innerText()).toContain('failed')
    await rows.nth(3).getByRole('link').click()
    await page.waitForURL(({ pathname }) => pathname === `/requests/${ids[1]}`)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('an end user is found, blocked, unblocked and erased', async () => {
    const { page } = await openWith(await arrive(), '/end-users?q=CUSTOMER')
    await page.getByRole('link', { name: endUser }).click()
    await page.getByRole('heading', { level: 1, name: endUser }).waitFor()
    await page.getByRole('link', { name: 'support, case 7' }).waitFor()
    await page.getByRole('button', { name: 'Block', exact: true }).click()
    await page.getByLabel('Reason').fill('Chargeback')
    await page.getByRole('dialog').getByRole('button', { name: 'Block' }).click()
    await page.getByText('Reason: Chargeback').waitFor()
    await page.getByRole('button', { name: 'Unblock' }).click()
    await page.getByText('Reason: Chargeback').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Erase data' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill(endUser)
    await page.getByRole('dialog').getByRole('button', { name: 'Erase data' }).click()
    await page
      .getByRole('region', { name: 'Receipt' })
      .getByText(/^erase_/)
      .waitFor()
    expect((await server.call('GET', '/end-user-erasures')).body.data).toHaveLength(1)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})

async function openWith(person: Person, path: string): Promise<Person> {
  await person.open(path)
  await person.waitUntilLoaded()
  return person
}
