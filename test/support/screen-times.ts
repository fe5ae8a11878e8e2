import type { Page } from 'playwright-core'

/** What stands for content that is not there yet. */
const placeholders = 'main [aria-label="Loading"], main .mantine-Skeleton-root'

export interface ScreenTimes {
  path: string
  /** From the navigation until nothing of the screen is missing, in milliseconds, sorted. */
  times: number[]
}

/** Opens each screen as a new page of the browser, once to fill its cache and then to measure. */
export async function measureScreens(
  page: Page,
  site: string,
  paths: readonly string[],
  visits: number,
): Promise<ScreenTimes[]> {
  const results: ScreenTimes[] = []
  for (const path of paths) {
    await openScreen(page, site + path)
    const times: number[] = []
    for (let visit = 0; visit < visits; visit++) times.push(await openScreen(page, site + path))
    results.push({ path, times: times.sort((a, b) => a - b) })
  }
  return results
}

async function openScreen(page: Page, url: string): Promise<number> {
  const startedAt = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('main h1').first().waitFor()
  for (;;) {
    const missing = page.locator(placeholders).first()
    await missing.waitFor({ state: 'detached' })
    if ((await page.locator(placeholders).count()) === 0) break
  }
  return performance.now() - startedAt
}

/** The screens that the menu leads to. */
export async function listMenu(page: Page, site: string): Promise<string[]> {
  await page.goto(site)
  const links = page.getByRole('navigation', { name: 'Screens' }).getByRole('link')
  await links.first().waitFor()
  const paths = await Promise.all((await links.all()).map((link) => link.getAttribute('href')))
  return paths.map((path) => new URL(path ?? '/', site).pathname)
}

export function percentile95(times: readonly number[]): number {
  const sorted = [...times].sort((a, b) => a - b)
  return sorted[Math.ceil(sorted.length * 0.95) - 1] ?? 0
}
