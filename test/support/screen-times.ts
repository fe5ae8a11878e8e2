import type { BrowserContext, Page, Request } from 'playwright-core'

/** Elements that stand for content that is not there yet. */
const placeholders = 'main [aria-label="Loading"], main .mantine-Skeleton-root'
/** Placeholders, and tables without all of their rows yet. */
const missing = `${placeholders}, main table[aria-busy="true"]`

export interface ScreenTimes {
  path: string
  /** Times from the navigation until a first part of the content is there, in milliseconds, sorted. */
  first: number[]
  /** Times until nothing of the screen is missing. */
  complete: number[]
  /** Reason why the screen was not visited further. */
  problem: string | null
}

/** Opens each screen as a new page of the browser, once to fill its cache and then to measure. */
export async function* measureScreens(
  context: BrowserContext,
  site: string,
  paths: readonly string[],
  visits: number,
): AsyncGenerator<ScreenTimes> {
  for (const path of paths) {
    // The one before may have crashed, or still be waiting.
    const page = await context.newPage()
    const { pending, failed } = trackRequests(page)
    await page.addInitScript(recordFirst)
    const visited: VisitTimes[] = []
    let problem: string | null = null
    try {
      await openScreen(page, site + path)
      for (let visit = 0; visit < visits; visit++) visited.push(await openScreen(page, site + path))
    } catch (error) {
      const [reason] = String(error).split('\n')
      problem = `visit ${visited.length}: ${reason} Waits for ${[...pending].join(', ') || 'no request'}.`
    }
    problem ??= failed[0] ?? null
    await page.close()
    const sort = (times: number[]) => times.sort((a, b) => a - b)
    const [first, complete] = [visited.map((visit) => visit.first), visited.map((visit) => visit.complete)]
    yield { path, first: sort(first), complete: sort(complete), problem }
  }
}

interface TrackedRequests {
  /** Requests without a whole response yet. */
  pending: Set<string>
  /** Requests that were rejected or failed: their screens show an error in place of content. */
  failed: string[]
}

function trackRequests(page: Page): TrackedRequests {
  const [pending, failed] = [new Set<string>(), [] as string[]]
  const nameOf = (request: Request) => `${request.method()} ${request.url()}`
  page.on('request', (request) => pending.add(nameOf(request)))
  page.on('requestfinished', (request) => pending.delete(nameOf(request)))
  page.on('requestfailed', (request) => pending.delete(nameOf(request)))
  page.on('response', (response) => {
    if (response.status() >= 400) failed.push(`${nameOf(response.request())} has ${response.status()}`)
  })
  return { pending, failed }
}

interface VisitTimes {
  first: number
  complete: number
}

/**
 * Runs in the page: when the heading is there and, of a screen with placeholders, one was replaced. Both are in
 * milliseconds since the navigation.
 */
const recordFirst = `(() => {
  let most = 0
  const watch = () => {
    if (!document.querySelector('main h1')) return requestAnimationFrame(watch)
    const left = document.querySelectorAll(${JSON.stringify(placeholders)}).length
    most = Math.max(most, left)
    if (left > 0 && left === most) return requestAnimationFrame(watch)
    window.firstContent ??= performance.now()
  }
  requestAnimationFrame(watch)
})()`

async function openScreen(page: Page, url: string): Promise<VisitTimes> {
  const startedAt = performance.now()
  await page.goto(url, { waitUntil: 'commit' })
  await page.locator('main h1').first().waitFor()
  do await page.locator(missing).first().waitFor({ state: 'detached' })
  while ((await page.locator(missing).count()) > 0)
  const complete = performance.now() - startedAt
  const first = Number(await page.evaluate('window.firstContent ?? performance.now()'))
  return { first: Math.min(first, complete), complete }
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
