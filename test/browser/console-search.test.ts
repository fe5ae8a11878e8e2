import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { seedLargeInstallation } from '../support/large-installation.ts'
import { Person } from './person.ts'

const hostileName = 'Zebra <img src=x onerror=alert(1)>'

describeInChromium('Search in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
    await server.call('POST', '/keys', { body: { name: hostileName } })
    const size = { generations: 0, keys: 300, members: 120, workspaces: 130 }
    await seedLargeInstallation(server.gateway, server.own.organization.id, size)
  })
  afterAll(() => server.stop())

  test('finds a key that no first page has, and leads to it', async () => {
    const owner = await Person.arrive(server, chromium())
    await owner.signInWithLink(server.own.owner.id)
    const { page } = owner
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('dialog').getByRole('textbox').fill('zebra')
    await page.getByRole('button', { name: hostileName }).click()
    await page.getByRole('heading', { level: 1, name: hostileName }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('search fields restrict lists, and are in the address', async () => {
    const owner = await Person.arrive(server, chromium())
    await owner.signInWithLink(server.own.owner.id)
    const { page } = owner
    await owner.open('/keys')
    await page.getByLabel('Search keys').fill('zebra')
    await page.keyboard.press('Enter')
    await page.waitForURL((url) => url.searchParams.get('q') === 'zebra')
    await page.getByRole('link', { name: hostileName }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByText('never').first().waitFor()
    await owner.open('/members?q=person%20119')
    await page.getByText('person-119@example.com').waitFor()
    await page.getByLabel('Search members').fill('nobody at all')
    await page.keyboard.press('Enter')
    await page.getByText('Nothing found').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('workspaces and members that no first page has are found, chosen and named', async () => {
    const owner = await Person.arrive(server, chromium())
    await owner.signInWithLink(server.own.owner.id)
    const { page } = owner
    const choose = async (field: string, text: string, option: string) => {
      await page.getByRole('combobox', { name: field, exact: true }).fill(text)
      await page.getByRole('option', { name: option }).click()
    }
    await owner.open(`/keys/${sha256('seed-247')}`)
    await page.getByText('Team 122', { exact: true }).waitFor()
    await owner.open(`/keys/${sha256('seed-95')}`)
    await page.getByText('Person 95', { exact: true }).waitFor()

    await choose('Workspace', 'team-122', 'Team 122')
    await owner.open('/keys')
    await page.getByRole('link', { name: 'Service key 247' }).waitFor()
    expect(await page.getByRole('link', { name: 'Service key 95' }).count()).toBe(0)
    const chosen = page.getByRole('combobox', { name: 'Workspace', exact: true })
    expect(await chosen.inputValue()).toBe('Team 122')
    await chosen.click()
    await page.getByRole('option', { name: 'Team 98' }).waitFor()

    await owner.open('/members/user_seed95')
    await page.getByText('No membership and no keys in this workspace.').waitFor()
    await page.getByRole('button', { name: 'Add a role' }).click()
    await choose('Role', 'audit', 'Auditor')
    await choose('Where', 'Team 121', 'Team 121')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('cell', { name: 'Team 121', exact: true }).waitFor()

    const { id } = (await server.call('GET', '/workspaces?q=team-122')).body.data[0]
    await owner.open(`/requests?workspace_id=${id}`)
    await page.getByText('Workspace: Team 122').waitFor()
    await owner.open(`/workspaces/${id}`)
    await page.getByRole('button', { name: 'Add members' }).click()
    await choose('Members', 'person 95', 'Person 95 (person-95@example.com)')
    await page.keyboard.press('Tab')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('link', { name: 'Person 95' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
