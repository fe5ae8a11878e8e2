import { additionalRoles } from '../../src/identity/permissions/roles.ts'
import type { TestChromium } from '../support/chromium.ts'
import { createSessionCaller, type SessionOptions, type TestServer } from '../support/harness.ts'
import { fillScreen, listScreens, unknownId } from './screens.ts'
import { type ColorScheme, Visitor } from './visitor.ts'

interface View {
  viewport: { width: number; height: number }
  colorScheme?: ColorScheme
}

export const phone: View = { viewport: { width: 390, height: 844 } }
export const wide: View = { viewport: { width: 1280, height: 860 } }

/** A member who looks at screens, one after the other. */
export interface Tour {
  name: string
  options: SessionOptions
  /** View of the visitor, a phone by default. */
  view?: View
  /** Other sizes in which the layout of each screen is inspected. */
  alsoIn?: readonly View[]
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

/** Tours of people who see a part: of one workspace, and by one permission. */
export async function listPartialTours(server: TestServer): Promise<Tour[]> {
  const { workspace } = server.own
  const custom = await server.call('POST', '/roles', {
    body: { name: `One permission ${crypto.randomUUID()}`, permissions: ['activity:read'] },
  })
  return [
    { name: 'workspace admin', options: { workspaces: { [workspace.id]: 'admin' } } },
    { name: 'custom', options: { workspaces: {}, roles: [{ roleId: custom.body.data.id }] } },
  ]
}

/** Tours of people who see the same screens with fewer records. */
export function listOtherTours(server: TestServer): Tour[] {
  return [
    {
      name: 'org:admin of another organization',
      options: { role: 'org:admin', tenant: server.foreign },
    },
    { name: 'org:member', options: { workspaces: {} } },
  ]
}

/** Lists of permissions, as the custom role is one. */
export function listRoleTours(): Tour[] {
  return additionalRoles.map(({ id }) => ({ name: id, options: { workspaces: {}, roles: [{ roleId: id }] } }))
}

/** Number of people at once: as many as there are cores where the tests must be fast. */
const visitors = 2

/** Makes all tours; returns the problems of their screens. */
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

/** Response for a record that does not exist. */
const refusal = /^40[034] GET /

/** The screens with an id once the others have shown links. */
async function makeTour(server: TestServer, chromium: TestChromium, tour: Tour): Promise<string[]> {
  const session = await createSessionCaller(server, tour.options)
  const { view = phone, alsoIn = [] } = tour
  const visitor = await Visitor.arrive(server, chromium, session, view)
  const { body } = await session.call('GET', '/generations?limit=1')
  const links = (body.data ?? []).map(({ id }: { id: string }) => `/requests/${id}`)
  // Changing the size is as much work as a visit, so each screen is first shown in the size that the last one had.
  const views = [view, ...alsoIn]
  const problems: string[] = []
  for (const screen of tour.screens ?? screens) {
    const path = fillScreen(screen, links)
    const visit = await visitor.visit(path)
    links.push(...visit.links)
    for (const [index, shown] of views.entries()) {
      if (index > 0) visit.problems.push(...(await visitor.findOverflow(shown.viewport)))
      const schemes = (shown === view && tour.axe) || []
      for (const scheme of schemes) visit.problems.push(...(await visitor.findViolations(scheme)))
    }
    views.reverse()
    for (const problem of visit.problems)
      if (!path.includes(unknownId) || !refusal.test(problem))
        problems.push(`${tour.name} ${path}: ${problem}`)
  }
  problems.push(...(await chromium.takeProblems()))
  await visitor.close()
  return problems
}
