import { afterAll, beforeAll, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

describeInChromium('Records that configuration files declare, in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  test('a list marks them, and their screen says that changes are overwritten', async () => {
    const create = async (name: string): Promise<string> =>
      (await server.call('POST', '/guardrails', { body: { name } })).body.data.id
    const [declared, other] = [await create('Declared'), await create('By hand')]
    const body = { kind: 'Guardrail', id: declared, name: 'default/Declared', fields: [], secrets: {} }
    await server.call('PUT', '/configuration/records', { body: { ...body, set: 'platform' } })
    const admin = await Person.arrive(server, chromium())
    await admin.signIn(server.own.owner.id)
    const { page } = admin
    await admin.open('/guardrails')
    await page.getByRole('row', { name: 'Declared' }).getByText('Managed by platform').waitFor()
    expect(await page.getByText('Managed by platform').count()).toBe(1)
    await admin.open(`/guardrails/${declared}`)
    const note = page.getByRole('note').filter({ hasText: 'Managed by platform' })
    await note.getByText('Changes here are overwritten by the next apply.').waitFor()
    await admin.open(`/guardrails/${other}`)
    await page.getByRole('heading', { name: 'By hand' }).first().waitFor()
    expect(await page.getByText('Managed by').count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
