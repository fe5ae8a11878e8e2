import { describe, expect, test } from 'bun:test'
import { sha256 } from '../../src/platform/crypto/crypto.ts'
import { Person } from '../browser/person.ts'
import { siteOf, TestChromium } from '../support/chromium.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { largeInstallation, seedLargeInstallation, updateStatistics } from '../support/large-installation.ts'
import { listMenu, measureScreens, percentile95, type ScreenTimes } from '../support/screen-times.ts'

/** The part of the full size, usually 1; without it this file has no tests. */
const scale = Number(process.env.HEADGATE_TEST_SCALE ?? 0)
const visits = 10
const targetMs = 1000
const timeoutMs = 90 * 60_000

describe.if(scale > 0)('The console with 5 million generations and 100,000 keys', () => {
  test.each(databaseKinds)(
    'the 95th percentile of all screens is below a second (%s)',
    async (kind) => {
      const server = await startTestServer(kind)
      const chromium = await TestChromium.open()
      try {
        const { gateway, own } = server
        const { workspaces, ...counts } = largeInstallation
        const [generations, keys, members] = [counts.generations, counts.keys, counts.members].map((count) =>
          Math.ceil(count * scale),
        ) as [number, number, number]
        await seedLargeInstallation(gateway, own.organization.id, { workspaces, generations, keys, members })
        await updateStatistics(gateway)
        const person = await Person.arrive(server, chromium)
        await person.signInWithLink(own.owner.id)
        const site = siteOf(server)
        const paths = [...(await listMenu(person.page, site)), ...(await listOtherScreens(server))]
        const screens: ScreenTimes[] = []
        for await (const screen of measureScreens(person.page.context(), site, paths, visits)) {
          screens.push(screen)
          printScreen(kind, screen)
          // So many visits of one person need more queries in a minute than anybody is allowed.
          server.clock.advance(60_000)
        }
        const first = percentile95(screens.flatMap((screen) => screen.first))
        const complete = percentile95(screens.flatMap((screen) => screen.complete))
        process.stdout.write(
          `${kind} all screens, p95: first ${first.toFixed(0)}, complete ${complete.toFixed(0)} ms\n`,
        )
        expect(screens.flatMap(({ path, problem }) => (problem === null ? [] : [{ path, problem }]))).toEqual(
          [],
        )
        expect(await chromium.takeProblems()).toEqual([])
        expect(first).toBeLessThan(targetMs)
      } finally {
        await chromium.close()
        await server.stop()
      }
    },
    timeoutMs,
  )
})

/** Single objects, and lists with filters that match few or none of the rows. */
async function listOtherScreens({ gateway, own }: TestServer): Promise<string[]> {
  const generation = await gateway.db
    .selectFrom('generations')
    .select('id')
    .where('organization_id', '=', own.organization.id)
    .limit(1)
    .executeTakeFirstOrThrow()
  return [
    ...[
      '/requests?period=all',
      '/requests?period=all&status=failed',
      '/requests?period=30d&min_latency=900000',
    ],
    ...[`/requests?period=all&key=${sha256('seed-99')}`, '/requests?period=all&session_id=none'],
    `/requests/${generation.id}`,
    ...['/activity?period=month', '/activity?period=month&group=key'],
    ...['/keys?offset=40000', '/keys?q=key%2099', '/keys?q=nothing', `/keys/${sha256('seed-4')}`],
    ...['/members?q=person%2099', `/members/${own.owner.id}`, `/workspaces/${own.workspace.id}`],
    ...['/models/sandbox/echo', '/account'],
  ]
}

function printScreen(kind: string, { path, first, complete, problem }: ScreenTimes): void {
  const result = problem ?? `first ${describeTimes(first)}  complete ${describeTimes(complete)}`
  process.stdout.write(`${kind} ${path.slice(0, 60).padEnd(60)} ${result}\n`)
}

function describeTimes(times: readonly number[]): string {
  const format = (ms: number) => ms.toFixed(0).padStart(5)
  return `p50 ${format(times[Math.floor(times.length / 2)] ?? 0)} p95 ${format(percentile95(times))} ms`
}
