import { afterAll, beforeAll, expect, test } from 'bun:test'
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
    const size = { generations: 0, keys: 300, members: 120, workspaces: 3 }
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
    await page.getByRole('searchbox').fill('zebra')
    await page.waitForURL((url) => url.searchParams.get('q') === 'zebra')
    await page.getByRole('link', { name: hostileName }).waitFor()
    expect(await page.getByRole('row').count()).toBe(2)
    await page.getByText('never').first().waitFor()
    await owner.open('/members?q=person%20119')
    await page.getByText('person-119@example.com').waitFor()
    await page.getByRole('searchbox').fill('nobody at all')
    await page.getByText('Nothing found').waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  })
})
