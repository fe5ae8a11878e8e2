import { pathPrefixOf } from '../../access/origin.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { renderHtmlPage } from '../../platform/http/html.ts'
import { faviconUrl, logoSvg } from '../pages/logo.ts'
import { html, Markup } from '../pages/markup.ts'
import { addressOf } from './address.ts'
import type { Document } from './document.ts'
import type { Library } from './library.ts'
import { maxQueryLength, type SearchResult } from './search.ts'
import { docsStyle } from './style.ts'

export const copyScriptPath = 'docs/copy-code.js'
export const schemeScriptPath = 'docs/color-scheme.js'

interface DocsView {
  title: string
  body: Markup
  /** The page that the menu marks. */
  current?: Document
  query?: string
  status?: number
}

export function renderDocument(gateway: Gateway, library: Library, page: Document): Response {
  return renderView(gateway, library, { title: page.title, body: new Markup(page.html), current: page })
}

export function renderResults(
  gateway: Gateway,
  library: Library,
  { query, results }: { query: string; results: SearchResult[] },
): Response {
  const items = results.map(
    ({ title, heading, address, snippet }) =>
      html`<li><a href="${address}">${heading ? `${title}: ${heading}` : title}</a><p>${snippet}</p></li>`,
  )
  const list = html`<ol class="results">${items}</ol>`
  const none = html`<p>No section has all of these words.</p>`
  const body = html`<h1>Search</h1>${results.length > 0 ? list : none}`
  return renderView(gateway, library, { title: 'Search', body, query })
}

export function renderMissing(gateway: Gateway, library: Library): Response {
  const body = html`<h1>Page not found</h1><p>The documentation has no page at this address. Search for it, or start with the <a href="docs">list of pages</a>.</p>`
  return renderView(gateway, library, { title: 'Page not found', body, status: 404 })
}

function renderView(gateway: Gateway, library: Library, view: DocsView): Response {
  const { title, body, current, query = '', status = 200 } = view
  const address = query ? `docs?q=${encodeURIComponent(query)}` : addressOf(current?.slug ?? '')
  return renderHtmlPage({
    base: `${pathPrefixOf(gateway)}/`,
    title: `${title} · Headgate`,
    icon: faviconUrl,
    style: docsStyle,
    earlyScript: schemeScriptPath,
    script: copyScriptPath,
    hasImages: true,
    status,
    body: html`${renderHeader(query, address)}<div class="columns"><main>${body}</main>${renderMenu(library, current)}</div>`
      .text,
    headers: { 'cache-control': 'max-age=300' },
  })
}

function renderHeader(query: string, address: string): Markup {
  return html`<header><a class="brand" href="./" aria-label="Headgate">${new Markup(logoSvg)}<span>Headgate</span></a>
<a href="docs">Documentation</a><a class="to-reference" href="reference">API reference</a><a class="to-menu" href="${address}#pages">Pages</a>
<form role="search" action="docs"><input type="search" name="q" value="${query}" maxlength="${String(maxQueryLength)}" placeholder="Search" aria-label="Search the documentation" required></form></header>`
}

/** After the text, since a phone shows it there. */
function renderMenu(library: Library, current: Document | undefined): Markup {
  const groups = library.menu.map(({ title, pages }) => {
    const isOpen = pages.some(({ slug }) => slug !== '' && isWithin(current, slug))
    const items = pages.map((page) => renderMenuItem(library, page, current))
    return html`<details${new Markup(isOpen ? ' open' : '')}><summary>${title}</summary><ul>${items}</ul></details>`
  })
  return html`<nav id="pages" aria-label="Pages">${groups}</nav>`
}

function isWithin(current: Document | undefined, slug: string): boolean {
  return current?.slug === slug || (current?.slug.startsWith(`${slug}/`) ?? false)
}

/** Below the current page are its sections; below the index of a folder, the pages of the folder. */
function renderMenuItem(library: Library, page: Document, current: Document | undefined): Markup {
  const isCurrent = page === current
  const link = html`<a href="${addressOf(page.slug)}"${new Markup(isCurrent ? ' aria-current="page"' : '')}>${page.title}</a>`
  if (!isWithin(current, page.slug)) return html`<li>${link}</li>`
  const inner = [...library.pages.values()].filter(({ slug }) => slug.startsWith(`${page.slug}/`))
  const items = [
    ...(isCurrent ? renderSections(page) : []),
    ...inner.map((one) => renderMenuItem(library, one, current)),
  ]
  return html`<li>${link}${items.length > 0 ? html`<ul>${items}</ul>` : []}</li>`
}

function renderSections({ slug, sections }: Document): Markup[] {
  return sections
    .filter(({ level }) => level === 2)
    .map(({ heading, anchor }) => html`<li><a href="${addressOf(slug, anchor)}">${heading}</a></li>`)
}
