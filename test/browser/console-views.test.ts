import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

describeInChromium('Saved views in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('a search is saved, changed, shared, opened by a colleague, and deleted', async () => {
    const owner = await Person.arrive(server, chromium())
    await owner.signIn(server.own.owner.id)
    const { page } = owner
    const menu = (name: string) => page.getByRole('button', { name, exact: true })
    await owner.open('/requests?status=failed&period=7d')
    await menu('Views').click()
    await page.getByRole('menuitem', { name: 'Save as a new view…' }).click()
    await page.getByLabel('Name').fill('Failures')
    await page.getByRole('radio', { name: 'Everyone in the organization' }).check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await menu('Failures').waitFor()

    await page.getByRole('button', { name: 'Remove the filter status:failed' }).click()
    await menu('Failures · Changed').click()
    await page.getByRole('menuitem', { name: 'Discard changes' }).click()
    await page.waitForURL((url) => url.searchParams.get('status') === 'failed')
    await menu('Failures').waitFor()

    await page.getByText('30d', { exact: true }).click()
    await menu('Failures · Changed').click()
    await page.getByRole('menuitem', { name: 'Save changes' }).click()
    await menu('Failures').waitFor()

    const colleague = await createSessionCaller(server, {})
    const other = await Person.arrive(server, chromium())
    await other.signIn(colleague.member.id)
    await other.open('/requests')
    await other.page.getByRole('button', { name: 'Views', exact: true }).click()
    await other.page.getByRole('menuitem', { name: 'Failures' }).click()
    await other.page.waitForURL(({ search }) => search.includes('status=failed') && search.includes('30d'))
    await other.page.getByRole('button', { name: 'Failures', exact: true }).click()
    expect(await other.page.getByRole('menuitem', { name: 'Delete…' }).count()).toBe(0)

    await menu('Failures').click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('button', { name: 'Delete', exact: true }).click()
    await menu('Views').waitFor()
    expect((await server.call('GET', '/saved-views')).body.data).toEqual([])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
