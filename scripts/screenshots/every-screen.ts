import { mkdirSync } from 'node:fs'
import type { BrowserContextOptions } from 'playwright-core'
import { createRecords } from '../../test/browser/records.ts'
import { fillScreen, unknownId } from '../../test/browser/screens.ts'
import { screens } from '../../test/browser/tours.ts'
import type { Visitor } from '../../test/browser/visitor.ts'
import type { TestServer } from '../../test/support/harness.ts'

const folder = '.cache/screens'

const views: Record<string, BrowserContextOptions> = {
  light: { viewport: { width: 1280, height: 860 }, colorScheme: 'light' },
  dark: { viewport: { width: 1280, height: 860 }, colorScheme: 'dark' },
  phone: { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
}

type Arrive = (options: BrowserContextOptions) => Promise<Visitor>

/** A picture of the whole of every screen, in both color schemes and on a phone. Returns the problems of the screens. */
export async function takeEveryScreen(
  server: TestServer,
  arrive: Arrive,
  firstLinks: readonly string[],
): Promise<string[]> {
  await createRecords(server, (word) => word.charAt(0).toUpperCase() + word.slice(1))
  const problems: string[] = []
  for (const [name, options] of Object.entries(views)) {
    mkdirSync(`${folder}/${name}`, { recursive: true })
    const visitor = await arrive(options)
    const links = [...firstLinks]
    for (const screen of screens) {
      const path = fillScreen(screen, links)
      const visit = await visitor.visit(path)
      links.push(...visit.links)
      if (!path.includes(unknownId)) problems.push(...visit.problems.map((problem) => `${path}: ${problem}`))
      const file = screen.slice(1).replaceAll('/', '-').replaceAll('$', '') || 'home'
      await visitor.page.screenshot({ path: `${folder}/${name}/${file}.png`, fullPage: true })
    }
    await visitor.close()
    process.stdout.write(`${folder}/${name}: ${screens.length} screens\n`)
  }
  return problems
}
