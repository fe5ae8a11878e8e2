import { expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { type DatabaseKind, databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { makeHostileText } from './hostile.ts'
import { createRecords } from './records.ts'
import { countRoutes } from './screens.ts'
import {
  admin,
  listPartialTours,
  lists,
  makeTours,
  memberTour,
  phone,
  screens,
  type Tour,
  wide,
} from './tours.ts'

const adminTour = { name: 'org:admin', options: admin, view: wide }

/** The long tests visit them as every role, in every view, without and with records. */
describeInChromium('Every screen of the console', (chromium) => {
  test('is found from its route', () => {
    expect(screens.length).toBeGreaterThan(15)
    expect(screens).toHaveLength(countRoutes())
  })

  const withServer = async (kind: DatabaseKind, run: (server: TestServer) => Promise<void>) => {
    const server = await startTestServer(kind, { settings: 'egress: { allow_private: ["127.0.0.1:9"] }' })
    try {
      await run(server)
    } finally {
      await server.stop()
    }
  }

  test('has no problem without data, and with hostile records for those who see a part (sqlite)', async () => {
    await withServer('sqlite', async (server) => {
      expect(await makeTours(server, chromium(), [adminTour])).toEqual([])
      await createRecords(server, makeHostileText)
      const inTheDark: Tour = { ...memberTour(server), view: { ...phone, colorScheme: 'dark' } }
      const partial = (await listPartialTours(server)).map((tour) => ({ ...tour, screens: lists }))
      expect(await makeTours(server, chromium(), [inTheDark, ...partial])).toEqual([])
    })
  }, 300_000)

  const kind = databaseKinds.at(-1) ?? 'sqlite'
  test(`shows hostile records as text in every width and has no finding of axe (${kind})`, async () => {
    await withServer(kind, async (server) => {
      await createRecords(server, makeHostileText)
      const tour = {
        ...adminTour,
        axe: ['light'] as const,
        alsoIn: [phone],
      }
      expect(await makeTours(server, chromium(), [tour])).toEqual([])
    })
  }, 300_000)
})
