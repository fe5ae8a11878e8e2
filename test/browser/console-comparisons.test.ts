import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { describeInChromium } from '../support/chromium.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'
import { inspectWithAxe } from './visitor.ts'

describeInChromium('Comparisons in the console', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arrive = async (memberId: string, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(memberId)
    return person
  }
  const button = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) })

  test('prompts of a file are run, voted on, saved, and opened by a colleague who votes', async () => {
    const owner = await arrive(server.own.owner.id)
    const { page } = owner
    await owner.open('/comparisons')
    await page.getByRole('heading', { name: 'No comparisons yet' }).waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    await page.getByRole('link', { name: 'New comparison' }).click()
    await page.getByLabel('File with prompts').setInputFiles({
      name: 'prompts.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('prompt\nSay hello\nSay goodbye\nsandbox:error=400 Fail\n'),
    })
    await page.getByText(/^Expected cost \$/).waitFor()
    expect(await inspectWithAxe(page)).toEqual([])
    await button(page, 'Run 6 requests').click()
    await page.getByRole('region', { name: 'Totals' }).waitFor()
    await page.getByText('Spent').waitFor()
    expect(await page.getByRole('button', { name: /^Vote for/ }).count()).toBe(4)
    await button(page, /^Vote for the reply of sandbox\/echo to prompt 1$/)
      .first()
      .click()
    await button(page, /^Withdraw your vote/).waitFor()
    expect(await inspectWithAxe(page)).toEqual([])

    await button(page, 'Save comparison').click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name').fill('Greetings')
    await dialog.getByRole('radio', { name: 'Everyone in the organization' }).check()
    await dialog.getByLabel('Blind').check({ force: true })
    expect(await inspectWithAxe(page)).toEqual([])
    await button(page, 'Save').click()
    await page.getByRole('heading', { name: 'Greetings' }).waitFor()

    const { data } = (await server.call('GET', '/comparisons')).body
    const path = `/comparisons/${data[0].id}`
    const saved = (await server.call('GET', path)).body.data
    expect(saved).toMatchObject({ is_blind: true, votes: [{ prompt: 0, count: 1 }] })
    expect(saved.replies).toHaveLength(6)
    expect(saved.totals[0].cost).toBeGreaterThan(0)

    const { member } = await createSessionCaller(server, {})
    const colleague = await arrive(member.id, { viewport: { width: 390, height: 844 } })
    await colleague.open(path)
    await colleague.page.getByText('0 of 2').waitFor()
    expect(await colleague.page.getByText('sandbox/echo').count()).toBe(0)
    expect(await inspectWithAxe(colleague.page)).toEqual([])
    await button(colleague.page, 'Vote for reply A to prompt 1').click()
    await colleague.page.getByText('1 of 2').waitFor()
    await button(colleague.page, 'Vote for reply B to prompt 2').click()
    await colleague.page.getByRole('region', { name: 'Totals' }).waitFor()
    await colleague.page.getByRole('columnheader', { name: 'sandbox/echo' }).first().waitFor()
    expect(await button(colleague.page, 'Delete').count()).toBe(0)
    const voted = (await server.call('GET', path)).body.data
    expect(voted.votes.reduce((sum: number, { count }: { count: number }) => sum + count, 0)).toBe(3)

    await button(page, 'Delete').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('heading', { name: 'No comparisons yet' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 120_000)

  test('a run can be canceled', async () => {
    const owner = await arrive(server.own.owner.id)
    const { page } = owner
    await owner.open('/comparisons/new')
    await page
      .getByLabel('Prompt 1', { exact: true })
      .fill('sandbox:slow=5000 One two three four five six seven')
    await page
      .getByLabel('Prompt 2', { exact: true })
      .fill('sandbox:slow=5000 One two three four five six seven')
    await button(page, 'Run 4 requests').click()
    await button(page, 'Cancel').click()
    await page.getByText('Canceled').first().waitFor()
    await button(page, 'Run 4 requests').waitFor()
    expect(await page.getByText('Canceled').count()).toBe(4)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the density of tables and the color scheme are kept, and the documentation has the scheme', async () => {
    await server.call('POST', '/keys', { body: { name: 'For a row' } })
    const owner = await arrive(server.own.owner.id, { colorScheme: 'light' })
    const { page } = owner
    const choose = async (group: string, choice: string) => {
      await owner.open('/account')
      await page.getByRole('radiogroup', { name: group }).getByText(choice, { exact: true }).click()
    }
    const measureRow = async () => {
      await owner.open('/keys')
      await page.locator('tbody tr').first().waitFor()
      return (await page.locator('tbody td').first().boundingBox())?.height ?? 0
    }
    const heights: number[] = []
    for (const density of ['Compact', 'Standard', 'Comfortable']) {
      await choose('Density', density)
      heights.push(await measureRow())
    }
    const [compact = 0, standard = 0, comfortable = 0] = heights
    expect(compact).toBeGreaterThan(0)
    expect(standard).toBeGreaterThan(compact)
    expect(comfortable).toBeGreaterThan(standard)

    await choose('Color scheme', 'Dark')
    const readBackground = () => page.evaluate('getComputedStyle(document.body).backgroundColor')
    const dark = await readBackground()
    await owner.open('/docs')
    expect(await readBackground()).toBe(dark)
    expect(await inspectWithAxe(page)).toEqual([])
    await choose('Color scheme', 'Light')
    await owner.open('/docs')
    expect(await readBackground()).not.toBe(dark)
    expect(await chromium().takeProblems()).toEqual([])
  }, 120_000)
})
