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
import { Visitor } from './visitor.ts'

type View = Pick<BrowserContextOptions, 'viewport' | 'colorScheme'>

const phone: View = { viewport: { width: 390, height: 844 } }
const wide: View = { viewport: { width: 1280, height: 860 } }
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
      const tour = async (role: string, options: SessionOptions, view: View = phone, usesAxe = false) => {
        const session = await createSessionCaller(server, options)
        const visitor = await Visitor.arrive(server, chromium(), session, view)
        const { body } = await session.call('GET', '/generations?limit=1')
        const links = (body.data ?? []).map(({ id }: { id: string }) => `/requests/${id}`)
        const problems: string[] = []
        for (const screen of screens) {
          const path = fillScreen(screen, links)
          const visit = await visitor.visit(path)
          links.push(...visit.links)
          if (usesAxe) visit.problems.push(...(await visitor.findViolations()))
          for (const problem of visit.problems)
            if (!path.includes(unknownId) || !refusal.test(problem))
              problems.push(`${role} ${path}: ${problem}`)
        }
        problems.push(...(await chromium().takeProblems()))
        await visitor.close()
        return problems
      }

      const tourAll = async (roles: Record<string, SessionOptions>) => {
        const waiting = Object.entries(roles)
        const problems: string[] = []
        const goOn = async (): Promise<void> => {
          for (let next = waiting.shift(); next; next = waiting.shift())
            problems.push(...(await tour(...next)))
        }
        await Promise.all(Array.from({ length: visitors }, goOn))
        return problems
      }

      const emptyTour = async () => expect(await tourAll(pickMostAndLeast(server))).toEqual([])
      if (kind === 'sqlite') test('has no problem without data', emptyTour, 300_000)

      test('has no problem with hostile records, and shows them as text', async () => {
        await createRecords(server, makeHostileText)
        const roles = kind === 'sqlite' ? await listRoles(server) : pickMostAndLeast(server)
        expect(await tourAll(roles)).toEqual([])
      }, 300_000)

      // What axe sees is the same for other roles, and on other databases.
      if (kind === 'postgres') return
      test('has no finding of axe: light, dark, wide, narrow', async () => {
        const admin = { role: 'org:admin' as const }
        const dark = { ...phone, colorScheme: 'dark' as const }
        const tours = [tour('wide', admin, wide, true), tour('dark', admin, dark, true)]
        expect((await Promise.all(tours)).flat()).toEqual([])
      }, 180_000)
    })
  }
})

/** The roles that see the most and the least. */
function pickMostAndLeast({ own }: TestServer): Record<string, SessionOptions> {
  return {
    'org:admin': { role: 'org:admin' },
    'workspace member': { workspaces: { [own.workspace.id]: 'member' } },
  }
}

async function listRoles(server: TestServer): Promise<Record<string, SessionOptions>> {
  const { workspace } = server.own
  const custom = await server.call('POST', '/roles', {
    body: { name: `One permission ${crypto.randomUUID()}`, permissions: ['activity:read'] },
  })
  return {
    ...pickMostAndLeast(server),
    'org:admin of another organization': { role: 'org:admin', tenant: server.foreign },
    'org:member': { workspaces: {} },
    'workspace admin': { workspaces: { [workspace.id]: 'admin' } },
    custom: { workspaces: {}, roles: [{ roleId: custom.body.data.id }] },
    ...Object.fromEntries(additionalRoles.map(({ id }) => [id, { workspaces: {}, roles: [{ roleId: id }] }])),
  }
}
