import type { BrowserContextOptions } from 'playwright-core'
import { additionalRoles } from '../../src/permissions/roles.ts'
import type { TestChromium } from '../support/chromium.ts'
import { createSessionCaller, type SessionOptions, type TestServer } from '../support/harness.ts'
import { fillScreen, listScreens, unknownId } from './screens.ts'
import { type ColorScheme, Visitor } from './visitor.ts'

type View = Pick<BrowserContextOptions, 'viewport' | 'colorScheme'>

export const phone: View = { viewport: { width: 390, height: 844 } }
export const wide: View = { viewport: { width: 1280, height: 860 } }

/** A member who looks at screens, one after the other. */
export interface Tour {
  name: string
  options: SessionOptions
  /** That of a phone by default. */
  view?: View
  /** Color schemes in which axe inspects the screens. */
  axe?: readonly ColorScheme[]
  /** All by default. */
  screens?: readonly string[]
}

/** Lists before the screens of their records, to which they lead. */
export const screens = listScreens().sort((a, b) => Number(a.includes('$')) - Number(b.includes('$')))
export const lists = screens.filter((screen) => !screen.includes('$'))

/** The role that sees the most. */
export const admin: SessionOptions = { role: 'org:admin' }

/** The role that sees the least. */
export function memberTour({ own }: TestServer): Tour {
  return { name: 'workspace member', options: { workspaces: { [own.workspace.id]: 'member' } } }
}

/** Those who see a part, for different reasons. */
export async function listOtherTours(server: TestServer): Promise<Tour[]> {
  const { workspace } = server.own
  const custom = await server.call('POST', '/roles', {
    body: { name: `One permission ${crypto.randomUUID()}`, permissions: ['activity:read'] },
  })
  const others: Record<string, SessionOptions> = {
    'org:admin of another organization': { role: 'org:admin', tenant: server.foreign },
    'org:member': { workspaces: {} },
    'workspace admin': { workspaces: { [workspace.id]: 'admin' } },
    custom: { workspaces: {}, roles: [{ roleId: custom.body.data.id }] },
  }
  return Object.entries(others).map(([name, options]) => ({ name, options }))
}

/** Lists of permissions, as the custom role is one. */
export function listRoleTours(): Tour[] {
  return additionalRoles.map(({ id }) => ({ name: id, options: { workspaces: {}, roles: [{ roleId: id }] } }))
}

/** How many people look at once: as many as there are cores where the tests must be fast. */
const visitors = 2

/** What is wrong with the screens of all tours. */
export async function makeTours(
  server: TestServer,
  chromium: TestChromium,
  tours: readonly Tour[],
): Promise<string[]> {
  const waiting = [...tours]
  const problems: string[] = []
  const goOn = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift())
      problems.push(...(await makeTour(server, chromium, next)))
  }
  await Promise.all(Array.from({ length: visitors }, goOn))
  return problems
}

/** Of a record that does not exist. */
const refusal = /^40[034] GET /

/** The screens with an id once the others have shown links. */
async function makeTour(server: TestServer, chromium: TestChromium, tour: Tour): Promise<string[]> {
  const session = await createSessionCaller(server, tour.options)
  const visitor = await Visitor.arrive(server, chromium, session, tour.view ?? phone)
  const { body } = await session.call('GET', '/generations?limit=1')
  const links = (body.data ?? []).map(({ id }: { id: string }) => `/requests/${id}`)
  const problems: string[] = []
  for (const screen of tour.screens ?? screens) {
    const path = fillScreen(screen, links)
    const visit = await visitor.visit(path)
    links.push(...visit.links)
    for (const scheme of tour.axe ?? []) visit.problems.push(...(await visitor.findViolations(scheme)))
    for (const problem of visit.problems)
      if (!path.includes(unknownId) || !refusal.test(problem))
        problems.push(`${tour.name} ${path}: ${problem}`)
  }
  problems.push(...(await chromium.takeProblems()))
  await visitor.close()
  return problems
}
