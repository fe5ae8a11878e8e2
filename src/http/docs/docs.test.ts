import { beforeAll, describe, expect, test } from 'bun:test'
import { readdirSync } from 'node:fs'
import { describeOnSqlite } from '../../../test/support/harness.ts'
import { addressOf, slugOf } from './address.ts'
import { parseDocument } from './document.ts'
import { type Library, loadLibrary } from './library.ts'
import { SearchIndex } from './search.ts'

const files = readdirSync('docs', { recursive: true }).map(String)
let library: Library

beforeAll(async () => {
  library = await loadLibrary('docs')
})

/** The values of an attribute in the pages, with the page that has them. */
function valuesOf(attribute: string): { slug: string; value: string }[] {
  const pattern = new RegExp(` ${attribute}="([^"]*)"`, 'g')
  return [...library.pages.values()].flatMap(({ slug, html }) =>
    [...html.matchAll(pattern)].map(([, value = '']) => ({ slug, value })),
  )
}

describe('the documentation', () => {
  test('has every page, with a title, and every picture', () => {
    const slugs = files.filter((file) => file.endsWith('.md')).map(slugOf)
    expect([...library.pages.keys()].sort()).toEqual(slugs.sort())
    expect(slugs.length).toBeGreaterThan(100)
    expect([...library.pages.values()].filter(({ title, slug }) => title === slug)).toEqual([])
    expect([...library.images.keys()].sort()).toEqual(files.filter((file) => file.endsWith('.png')).sort())
  })

  test('every link leads to a page and a heading that exist', () => {
    const addresses = new Set(
      [...library.pages.values()].flatMap(({ slug, sections }) => [
        addressOf(slug),
        ...sections.map(({ anchor }) => addressOf(slug, anchor)),
      ]),
    )
    const links = valuesOf('href').filter(({ value }) => !/^https?:/.test(value))
    expect(links.length).toBeGreaterThan(1000)
    expect(links.filter(({ value }) => !addresses.has(decodeURI(value)))).toEqual([])
  })

  test('every screen of the console leads to a page and a heading that exist', async () => {
    const screens = readdirSync('console/src/screens', { recursive: true }).map(String)
    const sources = await Promise.all(
      screens
        .filter((file) => file.endsWith('.tsx'))
        .map((file) => Bun.file(`console/src/screens/${file}`).text()),
    )
    const links = sources.flatMap((text) =>
      [...text.matchAll(/ docs="([^"]+)"/g)].map(([, link = '']) => link),
    )
    expect(links.length).toBeGreaterThan(30)
    const exists = (link: string) => {
      const [slug = '', anchor] = link.split('#')
      const page = library.pages.get(slug)
      return page && (!anchor || page.sections.some((section) => section.anchor === anchor))
    }
    expect(links.filter((link) => !exists(link))).toEqual([])
  })

  test('every picture exists', () => {
    const pictures = valuesOf('src')
    expect(pictures.length).toBeGreaterThan(10)
    expect(pictures.filter(({ value }) => !library.images.has(value.replace('docs/', '')))).toEqual([])
  })

  test('the menu has every page outside the folders that have an index', () => {
    const listed = library.menu.flatMap(({ pages }) => pages)
    expect(library.menu.map(({ title }) => title)).toContain('Operators')
    const isListed = (slug: string) =>
      listed.some((page) => page.slug === slug || slug.startsWith(`${page.slug}/`))
    expect([...library.pages.keys()].filter((slug) => slug !== '' && !isListed(slug))).toEqual([])
  })

  test.each([
    ['recipes of limits', 'docs/limits#ten-recipes'],
    ['402 credits', 'docs/errors#credits_exhausted'],
    ['HEADGATE_SECRET_KEY', 'docs/configuration'],
    ['Passkeys', 'docs/sign-in'],
    ['retry after', 'docs/errors'],
  ])('the search for %j finds %s', (query, address) => {
    const found = new SearchIndex(library.pages.values()).find(query).map((result) => result.address)
    expect(found.filter((one) => one.startsWith(address))).not.toEqual([])
  })

  test('words in their order come before words apart, and are in the excerpt', () => {
    const document = parseDocument(
      'one.md',
      `# One\n## Apart\nAfter this, retry.\n## Together\n${'Long text. '.repeat(50)}Send it with Retry-After then.`,
    )
    const found = new SearchIndex([document]).find('retry after')
    expect(found.map(({ heading }) => heading)).toEqual(['Together', 'Apart'])
    expect(found[0]?.snippet).toMatch(/^… .{1,60}retry-after then\.$/i)
  })

  test('the search needs every word, and takes hostile queries', () => {
    const index = new SearchIndex(library.pages.values())
    expect(index.find('budgets xyzzy')).toEqual([])
    expect(index.find('')).toEqual([])
    expect(index.find('*(?[')).toEqual([])
    expect(index.find('the '.repeat(10_000)).length).toBeLessThanOrEqual(30)
    expect(index.find('a').length).toBe(30)
  })
})

test('a page has anchors, links below /docs and code that is escaped', () => {
  const { title, html, sections } = parseDocument(
    'providers/one.md',
    [
      '# One <b>',
      'See [tiers](../limits.md#tiers), [here](#two-parts), [all](README.md), [the license](../../LICENSE), <i>raw</i>.',
      '<!-- hidden -->',
      '## Two `parts`',
      '```html\n<script>\n```',
      '## Two parts',
      '| a | |\n|---|---|\n| ![Home](../images/home.png) | b |',
    ].join('\n\n'),
  )
  expect(title).toBe('One ')
  expect(sections.map(({ anchor }) => anchor)).toEqual(['one-', 'two-parts', 'two-parts-1'])
  expect(html).toContain(
    '<a href="docs/limits#tiers">tiers</a>, <a href="docs/providers/one#two-parts">here</a>',
  )
  expect(html).toContain('<a href="docs/providers">all</a>, the license, &#60;i&#62;raw')
  expect(html).toContain('<h2 id="two-parts">')
  expect(html).toContain('&#60;script&#62;')
  expect(html).toContain('src="docs/images/home.png"')
  expect(html).toContain('<th>a</th><td></td>')
  expect(html).not.toContain('hidden')
})

describeOnSqlite('the pages of the documentation', (server) => {
  const get = (path: string, accept = 'text/html') =>
    fetch(server().url + path, { headers: { accept }, redirect: 'manual' })

  test.each(['/docs', '/docs/', '/docs/limits', '/docs/providers', '/docs/providers/anthropic'])(
    '%s is public and has the headers of a page',
    async (path) => {
      const response = await get(path)
      expect(response.status).toBe(200)
      const { headers } = response
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).toStartWith("default-src 'none'; script-src 'self'")
      expect(policy).toContain("img-src 'self' data:")
      const text = await response.text()
      expect(text).not.toMatch(/<script(?! src="docs\/(?:copy-code|color-scheme)\.js")|\son\w+="/)
      expect(text).toContain('aria-label="Pages"')
    },
  )

  test.each([
    '/docs/nothing',
    '/docs/README.md',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/package.json%00',
    '/docs/images/..%2f..%2fpackage.json',
    '/docs/__proto__',
    '/docs/constructor',
    '/docs//limits',
  ])('%s is no page', async (path) => {
    const response = await get(path, '*/*')
    expect([response.status, response.headers.get('content-type')]).toEqual([
      404,
      'application/json;charset=utf-8',
    ])
  })

  test('a browser is shown that a page does not exist, with the menu', async () => {
    const response = await get('/docs/nothing')
    expect(response.status).toBe(404)
    expect(await response.text()).toContain('<h1>Page not found</h1>')
  })

  test('a search shows where its words are, and escapes them', async () => {
    const found = await (await get('/docs?q=service+tiers')).text()
    expect(found).toContain('href="docs/routing#service-tiers"')
    const none = await (await get(`/docs?q=${encodeURIComponent('"><script>xyzzy')}`)).text()
    expect(none).toContain('value="&#34;&#62;&#60;script&#62;xyzzy"')
    expect(none).toContain('No section has all of these words')
  })

  test('the script and the pictures are served', async () => {
    const script = await get('/docs/copy-code.js')
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(await script.text()).toContain('clipboard')
    const image = await get('/docs/images/home.png')
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png'])
  })

  test('only GET is allowed', async () => {
    const response = await fetch(`${server().url}/docs/limits`, { method: 'POST' })
    expect(response.status).toBe(405)
  })
})
