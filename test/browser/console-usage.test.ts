import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { createMember } from '../../src/identity/members.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const phone = { viewport: { width: 390, height: 844 } }
const hostileName = '=<img src=x onerror="alert(1, 2)">'
const twoNumbers = Array.from({ length: 2 }, () => expect.stringMatching(/^[0-9.e-]+$/))

/** Rows of RFC 4180. */
function parseCsv(text: string): string[][] {
  const cell = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y
  const rows: string[][] = [[]]
  for (let match = cell.exec(text); match; match = cell.exec(text)) {
    const [, raw = '', end] = match
    rows.at(-1)?.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw)
    if (end !== ',') rows.push([])
  }
  return rows.slice(0, -1)
}

describeInChromium('What the console says of usage', (chromium) => {
  let server: TestServer
  beforeAll(async () => {
    server = await startTestServer('sqlite')
  })
  afterAll(() => server.stop())

  const arriveAsOwner = async (options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.signIn(server.own.owner.id)
    return person
  }

  const sendRequests = async (...contents: string[]) => {
    const created = await server.call('POST', '/keys', {
      key: server.own.managementKey,
      body: { name: hostileName },
    })
    for (const content of contents)
      await server.call('POST', '/chat/completions', {
        key: created.body.key,
        body: { model: 'sandbox/echo', messages: [{ role: 'user', content }] },
      })
  }

  test('activity: nothing yet, then by key, over time, and as CSV', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/activity')
    await page.getByRole('heading', { name: 'No requests in this period' }).waitFor()

    await sendRequests('one', 'two', 'three sandbox:error=500')
    await person.open('/activity?group=key&period=hour&compare=true')
    await page.getByRole('combobox', { name: 'Largest by' }).click()
    await page.getByRole('option', { name: 'Requests' }).click()
    await page.waitForURL(/metric=requests/)
    await page.getByRole('link', { name: 'Requests 3. Show the requests' }).waitFor()
    const errors = page.getByRole('region', { name: 'Error rate' })
    await errors.getByText('1 error', { exact: true }).waitFor()
    await errors.getByRole('link', { name: 'Error rate 33.3%. Show the requests' }).waitFor()
    await page.getByRole('cell', { name: hostileName, exact: true }).waitFor()
    expect(await page.locator('img').count()).toBe(0)

    const chart = page.getByRole('slider', { name: 'Requests by API key over time' })
    await chart.press('End')
    expect(await chart.getAttribute('aria-valuetext')).toContain(`${hostileName} `)
    await page.getByRole('button', { name: 'Show as table: Requests by API key over time' }).click()
    await page.getByRole('columnheader', { name: 'Period before, in all' }).waitFor()

    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    await page.getByRole('menuitem', { name: 'The table' }).click()
    const csv = parseCsv(readFileSync(await (await download).path(), 'utf8'))
    expect(csv[0]?.slice(0, 6)).toEqual(['API key', 'id', 'Requests', 'Spend', 'Tokens', 'Error rate'])
    expect(csv[1]?.slice(0, 5)).toEqual([
      ...[`'${hostileName}`, expect.stringMatching(/^[0-9a-f]{64}$/), '3'],
      ...twoNumbers,
    ])
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('activity on a phone: only one key, and all again', async () => {
    const person = await arriveAsOwner(phone)
    const { page } = person
    await person.open('/activity?group=key')
    await page.getByRole('cell').getByRole('button', { name: hostileName }).click()
    await page.waitForURL(/key=[0-9a-f]{64}/)
    await page.getByRole('button', { name: 'Remove the filter key:=<img' }).click()
    await page.waitForURL((url) => !url.searchParams.has('key'))
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('activity that is refused: the reason, and nothing that seems to be loading', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    const error = { code: 429, message: 'Too many queries.' }
    await page.route('**/analytics/query', (route) => route.fulfill({ status: 429, json: { error } }))
    await person.open('/activity')
    await page.getByRole('alert').filter({ hasText: error.message }).first().waitFor()
    expect(await page.getByRole('alert').count()).toBe(1)
    expect(await page.locator('main .mantine-Skeleton-root').count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('requests as CSV, with what a spreadsheet would run as text', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/requests?status=completed')
    await page.getByRole('img', { name: '2 requests, 0 with an error' }).waitFor()
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'Export CSV' }).click()
    const [header = [], ...rows] = parseCsv(readFileSync(await (await download).path(), 'utf8'))
    const records = rows.map((row) => Object.fromEntries(header.map((name, index) => [name, row[index]])))
    const { data } = (await server.call('GET', '/generations?status=completed')).body
    expect(records).toMatchObject(
      data.map(({ id, cost }: { id: string; cost: number }) => ({
        ...{ id, cost_usd: String(cost), status: 'completed', requested_model: 'sandbox/echo' },
        key: `'${hostileName}`,
      })),
    )
    expect(records).toHaveLength(2)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a row of the requests is a link: to a new tab, from any place in it, and with the keyboard', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    const { data } = (await server.call('GET', '/generations?limit=2')).body
    const [newest, older] = data.map(({ id }: { id: string }) => `/requests/${id}`)
    await person.open('/requests')
    const row = page.getByRole('grid', { name: 'Requests' }).getByRole('row').nth(1)
    const places = [row, row.getByRole('time'), row.getByTitle(/^\$/)]
    for (const place of places) {
      const opened = page.context().waitForEvent('page')
      await place.click({ modifiers: ['ControlOrMeta'] })
      const tab = await opened
      await tab.waitForURL(({ pathname }) => pathname === newest, { waitUntil: 'commit' })
      await tab.close()
    }
    await page.getByRole('link', { name: `Request ${newest.slice(10)}` }).focus()
    await page.keyboard.press('ArrowDown')
    // The focus moves once the next row is drawn.
    await page.locator(`[id="open-${older.slice(10)}"]:focus`).waitFor()
    await page.keyboard.press('Enter')
    await page.waitForURL(({ pathname }) => pathname === older)
    await page.goBack()
    await row.click()
    await page.waitForURL(({ pathname }) => pathname === newest)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a failed request says why first, and leads to its key, model and session', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    const sent = await server.call('POST', '/chat/completions', {
      key: server.own.inferenceKey,
      body: {
        ...{ model: 'sandbox/echo', session_id: 'broken' },
        messages: [{ role: 'user', content: 'sandbox:error=500' }],
      },
    })
    await person.open(`/requests/${sent.headers.get('x-generation-id')}`)
    const failure = page.getByRole('alert')
    await failure.getByText('HTTP 500').waitFor()
    await page.getByText('Tried last').waitFor()
    for (const name of ['sandbox/echo', 'broken'])
      await page.getByRole('link', { name, exact: true }).waitFor()
    await page.getByRole('link', { name: 'broken', exact: true }).click()
    await page.waitForURL(/\/sessions\/broken/)
    expect(await chromium().takeProblems()).toEqual([])
  })

  test('a session that ends elsewhere leads to the sign-in page, and back', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/keys')
    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await server.gateway.db.deleteFrom('sessions').execute()
    await page.getByRole('link', { name: 'Requests', exact: true }).click()
    await page.waitForURL(/\/signin\?return_to=%2Frequests/)
    // Chromium reports each refused call.
    await chromium().takeProblems()
  })

  test('credits are added', async () => {
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/credits')
    const credits = async () => (await server.call('GET', '/credits', { key: server.own.managementKey })).body
    const before = await credits()
    await page.getByRole('button', { name: 'Add credits' }).click()
    await page.getByLabel('Amount in USD').fill('12.5')
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    expect((await credits()).data.total_credits).toBe(before.data.total_credits + 12.5)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a member without roles is not offered what they may not see', async () => {
    const { clock, gateway, own } = server
    const member = await createMember(gateway.db, clock, {
      organizationId: own.organization.id,
      email: 'eve@example.com',
      role: 'org:member',
    })
    const person = await Person.arrive(server, chromium())
    await person.signIn(member.id)
    await person.open('/credits')
    await person.page.getByText('Your role does not allow this').waitFor()
    expect(await person.page.getByRole('link', { name: 'Credits' }).count()).toBe(0)
    expect(await person.page.getByRole('button', { name: 'Add credits' }).count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('activity by key, by model, and by key again has each row once', async () => {
    for (let index = 0; index < 25; index++) await sendRequests('one of many keys')
    const person = await arriveAsOwner()
    const { page } = person
    await person.open('/activity?group=key')
    const rows = page.locator('main tbody tr')
    const choose = async (group: string) => {
      await page.getByRole('combobox', { name: 'Group by' }).click()
      await page.getByRole('option', { name: group, exact: true }).click()
    }
    await rows.nth(25).waitFor()
    const count = await rows.count()
    for (let time = 0; time < 2; time++) {
      await choose('Model')
      await page.getByRole('heading', { name: 'Spend by model' }).waitFor()
      await rows.nth(1).waitFor({ state: 'detached' })
      await choose('API key')
      await rows.nth(count - 1).waitFor()
      expect(await rows.count()).toBe(count)
    }
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
