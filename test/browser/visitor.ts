import { readFileSync } from 'node:fs'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { siteOf, type TestChromium } from '../support/chromium.ts'
import type { TestServer } from '../support/harness.ts'

/** Maximum time of a screen on a busy machine. */
const waitMs = 20_000

/** Runs in the page. */
const helpers = `
  const all = (selector) => [...document.querySelectorAll(selector)]
  const show = (element) => element.outerHTML.slice(0, 160)
  const isWide = (e) => e.scrollWidth > e.clientWidth && getComputedStyle(e).overflowX === 'visible'
  const findOverflow = () => {
    const overflow = document.documentElement.scrollWidth - window.innerWidth
    return overflow > 0
      ? [overflow + ' px wider than the window: ' + all('main *').filter(isWide).slice(-1).map(show)]
      : []
  }`

const inspection = `(() => {
  ${helpers}
  return {
    headings: all('h1').length,
    overflow: findOverflow(),
    active: all('iframe, object, embed, #root script, [onerror], [onload]').map(show),
    images: all('img').map((image) => image.src).filter((src) => !/^(data|blob):/.test(src) && !src.startsWith(location.origin)),
    links: all('a[href]').map((link) => link.href),
    text: document.body.innerText,
  }
})()`

/** Runs in the page: what overflows, once the parts that measure the window have adjusted to it. */
const adjustment = `(async () => {
  ${helpers}
  const deadline = performance.now() + ${waitMs}
  while (findOverflow().length > 0 && performance.now() < deadline)
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
  return findOverflow()
})()`

const axe = readFileSync(new URL('../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8')

/** Runs in the page after `axe`. Each finding with the first element that it is about. */
const violationsOf = (rules: string[] | null) => `axe.run(${JSON.stringify({
  resultTypes: ['violations'],
  preload: false,
  ...(rules && { runOnly: rules }),
})}).then(({ violations }) => violations.map(({ id, impact, nodes }) =>
  id + ' (' + impact + '): ' + nodes[0].html.slice(0, 200) + ' ' +
    JSON.stringify(nodes[0].any[0]?.data ?? nodes[0].failureSummary)))`

/** Runs in the page: until no color changes any more. */
const transitions = `Promise.allSettled(document.getAnimations()
  .filter((animation) => animation instanceof CSSTransition).map(({ finished }) => finished)).then(() => 0)`

/**
 * Runs in the page: until there is a heading and nothing is loading, after another frame. Long tables get their last
 * rows later, and a chart, whose code is loaded later, has a skeleton in its place. One script instead of a locator for
 * each: most of what a visit would cost.
 */
const completion = `(async () => {
  const loading = '[aria-label="Loading"], table[aria-busy="true"], .mantine-Skeleton-root'
  const deadline = performance.now() + ${waitMs}
  const findMissing = () =>
    !document.querySelector('h1:not([data-old])') ? 'no h1' : document.querySelector(loading) && 'still loading'
  do {
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)))
  } while (findMissing() && performance.now() < deadline)
  return findMissing() || null
})()`

export type ColorScheme = 'light' | 'dark'

interface Size {
  width: number
  height: number
}

/** Rules whose result depends on the color scheme. */
const colorRules = ['color-contrast', 'link-in-text-block']

interface Inspection {
  headings: number
  overflow: string[]
  /** Elements that do something by themselves. No text may become one. */
  active: string[]
  /** Images of other hosts. */
  images: string[]
  links: string[]
  text: string
}

export interface Visit {
  /** Problems of the screen. */
  problems: string[]
  /** Paths of the console that it leads to. */
  links: string[]
  text: string
}

/** Finds violations by axe on what the page shows; by default of all rules. */
export async function inspectWithAxe(page: Page, rules: string[] | null = null): Promise<string[]> {
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(`${axe}; 0`)
  return (await page.evaluate(violationsOf(rules))) as string[]
}

/** A member with a session, who goes from screen to screen. */
export class Visitor {
  readonly page: Page
  readonly #site: string
  #problems: string[] = []
  #pending = 0

  private constructor(page: Page, site: string) {
    this.page = page
    this.#site = site
    page.on('dialog', async (dialog) => {
      this.#problems.push(`a dialog: ${dialog.message()}`)
      await dialog.dismiss()
    })
    page.on('request', () => void this.#pending++)
    page.on('requestfailed', () => void this.#pending--)
    page.on('requestfinished', () => void this.#pending--)
    page.on('response', (response) => {
      const { pathname, search } = new URL(response.url())
      if (response.status() >= 400)
        this.#problems.push(`${response.status()} ${response.request().method()} ${pathname}${search}`)
    })
  }

  static async arrive(
    server: TestServer,
    chromium: TestChromium,
    session: { token: string },
    options: BrowserContextOptions = {},
  ): Promise<Visitor> {
    const page = await chromium.openPage(options)
    const site = siteOf(server)
    await page.context().addCookies([{ name: 'headgate_session', value: session.token, url: site }])
    return new Visitor(page, site)
  }

  /** Visits a path: from the address bar the first time, later as with a link. */
  async visit(path: string): Promise<Visit> {
    this.#problems = []
    if (this.page.url().startsWith(this.#site)) {
      await this.page.evaluate(`document.querySelector('h1')?.setAttribute('data-old', '')
        history.pushState({}, '', ${JSON.stringify(path)})`)
    } else {
      await this.page.goto(this.#site + path)
    }
    await this.settle()
    const found = (await this.page.evaluate(inspection)) as Inspection
    const { pathname } = new URL(this.page.url())
    const problems = [
      ...this.#problems,
      ...found.overflow,
      ...found.active.map((markup) => `an active element: ${markup}`),
      ...found.images.map((source) => `an image of another host: ${source}`),
      ...found.links.filter((link) => !/^https?:/.test(link)).map((link) => `a link to ${link}`),
      ...(found.headings === 1 ? [] : [`${found.headings} h1`]),
      ...(pathname === path.split('?')[0] ? [] : [`went to ${pathname}`]),
    ]
    const links = found.links
      .filter((link) => link.startsWith(`${this.#site}/`))
      .map((link) => link.slice(this.#site.length))
    return { problems, links, text: found.text }
  }

  /** Finds what does not fit on the current screen once the window has this size. */
  async findOverflow(size: Size): Promise<string[]> {
    this.#problems = []
    await this.page.setViewportSize(size)
    await this.settle()
    const found = (await this.page.evaluate(adjustment)) as string[]
    return [...this.#problems, ...found].map((problem) => `${size.width} px wide: ${problem}`)
  }

  /** Finds violations by axe on the current screen; in the dark scheme only in its colors. */
  async findViolations(scheme: ColorScheme): Promise<string[]> {
    if (scheme === 'light') return inspectWithAxe(this.page)
    await this.page.emulateMedia({ colorScheme: scheme })
    await this.settle()
    await this.page.evaluate(transitions)
    const findings = await inspectWithAxe(this.page, colorRules)
    await this.page.emulateMedia({ colorScheme: 'light' })
    return findings.map((finding) => `dark: ${finding}`)
  }

  /** Waits until the screen is complete: nothing is loading, and a frame later still nothing. */
  async settle(): Promise<void> {
    for (let quiet = 0; quiet < 2; ) {
      const missing = (await this.page.evaluate(completion)) as string | null
      if (missing !== null) {
        this.#problems.push(missing)
        return
      }
      quiet = this.#pending > 0 ? 0 : quiet + 1
    }
  }

  close(): Promise<void> {
    return this.page.context().close()
  }
}
