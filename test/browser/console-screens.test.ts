import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { BrowserContextOptions } from 'playwright-core'
import { additionalRoles } from '../../src/permissions/roles.ts'
import { describeInChromium } from '../support/chromium.ts'
import {
  createSessionCaller,
  databaseKinds,
  type SessionOptions,
  startTestServer,
  type TestServer,
} from '../support/harness.ts'
import { makeHostileText } from './hostile.ts'
import { createRecords } from './records.ts'
import { countRoutes, fillScreen, listScreens, unknownId } from './screens.ts'
import { type ColorScheme, Visitor } from './visitor.ts'

type View = Pick<BrowserContextOptions, 'viewport'>

const phone: View = { viewport: { width: 390, height: 844 } }
const wide: View = { viewport: { width: 1280, height: 860 } }

interface Tour {
  name: string
  options: SessionOptions
  /** That of a phone by default. */
  view?: View
  /** Color schemes in which axe inspects the screens. */
  axe?: readonly ColorScheme[]
}

const admin: SessionOptions = { role: 'org:admin' }
/** Of the role that sees the most. */
const wideTour: Tour = { name: 'org:admin, wide', options: admin, view: wide, axe: ['light', 'dark'] }
const narrowTour: Tour = { name: 'org:admin, narrow', options: admin, axe: ['light', 'dark'] }

/** Lists before the screens of their records, to which they lead. */
const screens = listScreens().sort((a, b) => Number(a.includes('$')) - Number(b.includes('$')))

/** Of a record that does not exist. */
const refusal = /^40[034] GET /

/** How many people look at once: as many as there are cores where the tests must be fast. */
const visitors = 2

describeInChromium('Every screen of the console', (chromium) => {
  test('is found from its route', () => {
    expect(screens.length).toBeGreaterThan(15)
    expect(screens).toHaveLength(countRoutes())
  })

  for (const kind of databaseKinds) {
    describe(`for every role (${kind})`, () => {
      let server: TestServer
      beforeAll(async () => {
        server = await startTestServer(kind, { settings: 'egress: { allow_private: ["127.0.0.1:9"] }' })
      })
      afterAll(() => server.stop())

      /** All screens, one after the other; those with an id once the others have shown links. */
      const visitAll = async ({ name, options, view = phone, axe = [] }: Tour) => {
        const session = await createSessionCaller(server, options)
        const visitor = await Visitor.arrive(server, chromium(), session, view)
        const { body } = await session.call('GET', '/generations?limit=1')
        const links = (body.data ?? []).map(({ id }: { id: string }) => `/requests/${id}`)
        const problems: string[] = []
        for (const screen of screens) {
          const path = fillScreen(screen, links)
          const visit = await visitor.visit(path)
          links.push(...visit.links)
          for (const scheme of axe) visit.problems.push(...(await visitor.findViolations(scheme)))
          for (const problem of visit.problems)
            if (!path.includes(unknownId) || !refusal.test(problem))
              problems.push(`${name} ${path}: ${problem}`)
        }
        problems.push(...(await chromium().takeProblems()))
        await visitor.close()
        return problems
      }

      const makeTours = async (tours: readonly Tour[]) => {
        const waiting = [...tours]
        const problems: string[] = []
        const goOn = async (): Promise<void> => {
          for (let next = waiting.shift(); next; next = waiting.shift())
            problems.push(...(await visitAll(next)))
        }
        await Promise.all(Array.from({ length: visitors }, goOn))
        return problems
      }

      // What axe sees is the same on other databases.
      if (kind === 'sqlite')
        test('has no problem without data, and no finding of axe: light and dark', async () => {
          expect(await makeTours([wideTour, memberTour(server)])).toEqual([])
        }, 300_000)

      test('has no problem with hostile records, shows them as text, and has no finding of axe', async () => {
        await createRecords(server, makeHostileText)
        const tours =
          kind === 'sqlite'
            ? [wideTour, narrowTour, ...(await listOtherTours(server))]
            : [{ name: 'org:admin', options: admin }, memberTour(server)]
        expect(await makeTours(tours)).toEqual([])
      }, 600_000)
    })
  }
})

/** Of the role that sees the least. */
function memberTour({ own }: TestServer): Tour {
  return { name: 'workspace member', options: { workspaces: { [own.workspace.id]: 'member' } } }
}

async function listOtherTours(server: TestServer): Promise<Tour[]> {
  const { workspace } = server.own
  const custom = await server.call('POST', '/roles', {
    body: { name: `One permission ${crypto.randomUUID()}`, permissions: ['activity:read'] },
  })
  const others: Record<string, SessionOptions> = {
    'org:admin of another organization': { role: 'org:admin', tenant: server.foreign },
    'org:member': { workspaces: {} },
    'workspace admin': { workspaces: { [workspace.id]: 'admin' } },
    custom: { workspaces: {}, roles: [{ roleId: custom.body.data.id }] },
    ...Object.fromEntries(additionalRoles.map(({ id }) => [id, { workspaces: {}, roles: [{ roleId: id }] }])),
  }
  return [memberTour(server), ...Object.entries(others).map(([name, options]) => ({ name, options }))]
}
