import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { describeInChromium } from '../support/chromium.ts'
import { databaseKinds, startTestServer, type TestServer } from '../support/harness.ts'
import { makeHostileText } from './hostile.ts'
import { createRecords } from './records.ts'
import { countRoutes } from './screens.ts'
import { admin, listOtherTours, lists, makeTours, memberTour, screens, type Tour, wide } from './tours.ts'

const wideTour: Tour = { name: 'org:admin, wide', options: admin, view: wide }
/** A color scheme changes the layout as little as a color does: axe inspects it in the long tests. */
const narrowTour: Tour = { name: 'org:admin, narrow', options: admin, view: { colorScheme: 'dark' } }

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

      // What a screen shows without records is the same on other databases.
      if (kind === 'sqlite')
        test('has no problem without data', async () => {
          expect(await makeTours(server, chromium(), [wideTour, memberTour(server)])).toEqual([])
        }, 300_000)

      test('has no problem with hostile records, shows them as text, and has no finding of axe', async () => {
        await createRecords(server, makeHostileText)
        const others = (await listOtherTours(server)).map((tour) => ({ ...tour, screens: lists }))
        const tours =
          kind === 'sqlite'
            ? [{ ...wideTour, axe: ['light'] as const }, narrowTour, memberTour(server), ...others]
            : [wideTour]
        expect(await makeTours(server, chromium(), tours)).toEqual([])
      }, 600_000)
    })
  }
})
