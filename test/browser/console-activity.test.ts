import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { Locator, Page } from 'playwright-core'
import { describeInChromium } from '../support/chromium.ts'
import { insertGeneration } from '../support/generations.ts'
import { createSessionCaller, startTestServer, type TestServer } from '../support/harness.ts'
import { Person } from './person.ts'

const hourMs = 3_600_000
const hostileName = 'Search <img src=x onerror="alert(1)">'

describeInChromium('Activity as a dashboard', (chromium) => {
  let server: TestServer
  /** The time in the browser: it stays, since the buckets of charts move on with the hour. */
  const now = Date.now()
  /** A day before: the beginning of the hour with the spike. */
  const spikeAt = Math.floor(now / hourMs) * hourMs - 24 * hourMs

  beforeAll(async () => {
    server = await startTestServer('sqlite')
    for (const [name, spikeUsd] of [
      ['Support', 1],
      [hostileName, 40],
      ['Mobile app', 2],
    ] as const)
      await spendIn(name, spikeUsd)
  })
  afterAll(() => server.stop())

  const spendIn = async (name: string, spikeUsd: number) => {
    const slug = `team-${crypto.randomUUID().slice(0, 8)}`
    const workspace = (await server.call('POST', '/workspaces', { body: { name, slug } })).body.data
    const body = { name: `Key of ${slug}`, workspace_id: workspace.id }
    const key = (await server.call('POST', '/keys', { body })).body
    for (let hour = -100; hour <= 20; hour += 10) {
      const created_at = new Date(spikeAt + hour * hourMs + 60_000).toISOString()
      const usd = hour === 0 ? spikeUsd : 0.5
      await insertGeneration(
        server.gateway,
        { inferenceKey: key.key },
        {
          ...{ created_at, ended_at: created_at, cost_nanos: BigInt(usd * 1e9), latency_ms: 100 + spikeUsd },
          ...{ tags: `project=${slug}`, workspace_id: workspace.id },
        },
      )
    }
  }

  const arrive = async (path: string, options = {}) => {
    const person = await Person.arrive(server, chromium(), options)
    await person.page.clock.setFixedTime(now)
    await person.signIn(server.own.owner.id)
    await person.open(path)
    return person.page
  }

  const chart = (page: Page, name: string) => page.getByRole('slider', { name }).locator('.u-over')

  /** The middle of a bucket on the time axis, in pixels. */
  const placeOf = async (over: Locator, ms: number) => {
    const box = await over.boundingBox()
    const [slider] = await over.page().getByRole('slider').all()
    const buckets = Number(await slider?.getAttribute('aria-valuemax')) + 1
    const end = Math.ceil(now / hourMs) * hourMs
    const index = buckets - (end - ms) / hourMs
    return { x: ((index + 0.5) / buckets) * (box?.width ?? 0), height: box?.height ?? 0 }
  }

  test("which workspace made yesterday's spike, from Home, in four clicks", async () => {
    const page = await arrive('/')
    let clicks = 0
    const click = async (target: Locator, options = {}) => {
      clicks++
      await target.click(options)
    }
    await click(page.getByRole('link', { name: 'Activity', exact: true }))
    await click(page.getByRole('combobox', { name: 'Group by' }))
    await click(page.getByRole('option', { name: 'Workspace', exact: true }))
    const spend = chart(page, 'Spend by workspace over time')
    const { x, height } = await placeOf(spend, spikeAt)
    await spend.hover({ position: { x, y: height - 20 } })
    const region = page.getByRole('region', { name: 'Spend', exact: true })
    await region.getByText('$40.00').waitFor()
    await click(spend, { position: { x, y: height - 20 } })
    await page.waitForURL(/\/requests\?.*workspace_id=/)
    await page.getByRole('img', { name: '1 requests, 0 with an error' }).waitFor()
    expect(new URL(page.url()).searchParams.get('from')).toBe(
      new Date(spikeAt).toISOString().replace('.000', ''),
    )
    expect(clicks).toBeLessThanOrEqual(4)
    expect(await page.locator('main img').count()).toBe(0)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a range is zoomed into by dragging, and Back leads to the whole', async () => {
    const page = await arrive('/activity?group=none')
    const requests = chart(page, 'Requests over time')
    const { x, height } = await placeOf(requests, spikeAt)
    const box = await requests.boundingBox()
    const [left, top] = [(box?.x ?? 0) + x, (box?.y ?? 0) + height / 2]
    await page.mouse.move(left - 20, top)
    await page.mouse.down()
    await page.mouse.move(left + 20, top, { steps: 4 })
    await page.mouse.up()
    await page.waitForURL(/from=/)
    const { searchParams } = new URL(page.url())
    const [from, to] = ['from', 'to'].map((name) => Date.parse(searchParams.get(name) ?? ''))
    expect([Number(from) <= spikeAt, Number(to) >= spikeAt + hourMs]).toEqual([true, true])
    expect(Number(to) - Number(from)).toBeLessThan(48 * hourMs)
    await page.goBack()
    await page.waitForURL((url) => !url.searchParams.has('from'))
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('the legend highlights a series in every chart, and leads to its requests', async () => {
    const page = await arrive('/activity?group=workspace&compare=true')
    const legend = page.getByRole('group', { name: 'Legend' })
    const entry = legend.getByRole('button', { name: hostileName })
    await entry.click()
    expect(await entry.getAttribute('aria-pressed')).toBe('true')
    const slider = page.getByRole('slider', { name: 'Latency by workspace over time' })
    await slider.press('End')
    expect(await slider.getAttribute('aria-valuetext')).toContain('Period before, in all')
    await page.getByRole('radiogroup', { name: 'Percentile' }).getByText('p50').click()
    await page.waitForURL(/latency=p50/)
    await legend.getByRole('link', { name: `Requests of ${hostileName}` }).click()
    await page.getByRole('img', { name: '13 requests, 0 with an error' }).waitFor()
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('filters are typed with names, and requests are grouped by a tag', async () => {
    const page = await arrive('/activity')
    const field = page.getByLabel('Search activity')
    await field.fill('workspace:Mob')
    await page.getByRole('option', { name: /^Mobile app/ }).click()
    await page.getByRole('button', { name: 'Remove the filter workspace:Mobile app' }).waitFor()
    await page.getByRole('link', { name: /^Spend \$8\.00\./ }).waitFor()
    await field.fill('claude')
    await page.keyboard.press('Enter')
    await page.getByText('“claude” needs a field').waitFor()
    await page.getByRole('combobox', { name: 'Group by' }).click()
    await page.getByRole('option', { name: 'Tag project' }).click()
    await page.getByRole('slider', { name: 'Spend by tag project over time' }).waitFor()
    await page.getByRole('group', { name: 'Legend' }).getByRole('link').click()
    await page.waitForURL(/\/requests\?.*tag=project/)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('changes of the audit log are marked on the time axis, and lead to their entries', async () => {
    await server.call('POST', '/guardrails', {
      body: { name: 'No secrets', limit_usd: 5, reset_interval: 'monthly' },
    })
    const doomed = (await server.call('POST', '/keys', { body: { name: 'Old key' } })).body
    await server.call('DELETE', `/keys/${doomed.data.hash}`)
    const page = await arrive('/activity?group=none')
    const changes = page.getByRole('region', { name: 'Changes in this period' })
    await changes.getByRole('link', { name: /created guardrail No secrets/ }).waitFor()
    const marks = page.getByRole('region', { name: 'Spend', exact: true }).locator('[data-mark]')
    await marks.nth(1).waitFor()
    expect(await marks.count()).toBe(2)
    await changes.getByRole('link', { name: /deleted API key Old key/ }).click()
    await page.waitForURL(/\/audit\?/)
    await page.getByRole('button', { name: /^Details: .* deleted API key Old key/ }).waitFor()
    expect(await page.getByRole('button', { name: /^Details: / }).count()).toBe(1)
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)

  test('a dashboard is saved, shared, and opened by a colleague with its choices', async () => {
    const page = await arrive('/activity?group=workspace&period=day&latency=p50')
    await page.getByRole('switch', { name: 'Compare with the previous period' }).click()
    const spend = page.getByRole('region', { name: 'Spend', exact: true })
    await spend.getByText(/▼ -\d/).waitFor()
    await page.getByRole('button', { name: 'Views', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Save as a new view…' }).click()
    await page.getByLabel('Name').fill('Teams today')
    await page.getByRole('radio', { name: 'Everyone in the organization' }).check()
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('button', { name: 'Teams today', exact: true }).waitFor()

    const colleague = await createSessionCaller(server, { role: 'org:admin' })
    const other = await Person.arrive(server, chromium())
    await other.signIn(colleague.member.id)
    await other.open('/activity')
    await other.page.getByRole('button', { name: 'Views', exact: true }).click()
    await other.page.getByRole('menuitem', { name: 'Teams today' }).click()
    await other.page.getByRole('slider', { name: 'Latency by workspace over time' }).waitFor()
    await other.page.getByRole('group', { name: 'Legend' }).getByText('Period before, in all').waitFor()
    expect(new URL(other.page.url()).search).toContain('latency=p50')
    expect(await chromium().takeProblems()).toEqual([])
  }, 60_000)
})
