import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeHostileText } from '../browser/hostile.ts'
import { createRecords } from '../browser/records.ts'
import {
  admin,
  listOtherTours,
  listPartialTours,
  listRoleTours,
  makeTours,
  memberTour,
  phone,
  type Tour,
  wide,
} from '../browser/tours.ts'
import { describeInChromium } from '../support/chromium.ts'
import { startTestServer, type TestServer } from '../support/harness.ts'

const isSelected = process.env.HEADGATE_TEST_CONSOLE !== undefined

/** Every role, in each width, with axe in each color scheme. */
function combine(tours: readonly Tour[]): Tour[] {
  return tours.flatMap((tour) =>
    Object.entries({ phone, wide }).map(([name, view]) => ({
      ...tour,
      name: `${tour.name}, ${name}`,
      view,
      axe: ['light', 'dark'] as const,
    })),
  )
}

if (isSelected)
  describeInChromium('Every screen of the console, for every role, width and color scheme', (chromium) => {
    let server: TestServer
    beforeAll(async () => {
      server = await startTestServer('sqlite', { settings: 'egress: { allow_private: ["127.0.0.1:9"] }' })
    })
    afterAll(() => server?.stop())

    const tours = async () => [
      { name: 'org:admin', options: admin },
      memberTour(server),
      ...listOtherTours(server),
      ...(await listPartialTours(server)),
      ...listRoleTours(),
    ]

    test('has no problem and no finding of axe without data', async () => {
      expect(await makeTours(server, chromium(), combine(await tours()))).toEqual([])
    }, 3_600_000)

    test('has no problem and no finding of axe with hostile records', async () => {
      await createRecords(server, makeHostileText)
      expect(await makeTours(server, chromium(), combine(await tours()))).toEqual([])
    }, 3_600_000)
  })
