import { pathPrefixOf } from '../../access/origin.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { escapeHtml, renderHtmlPage } from '../../platform/http/html.ts'
import { faviconUrl, logoSvg } from './logo.ts'

/** HTML, already escaped. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Escapes every interpolated value except its own output. */
export function html(texts: TemplateStringsArray, ...values: (string | Markup | Markup[])[]): Markup {
  const parts = values.map((value) => {
    if (typeof value === 'string') return escapeHtml(value)
    return [value]
      .flat()
      .map((markup) => markup.text)
      .join('')
  })
  return new Markup(texts.reduce((before, after, i) => before + parts[i - 1] + after))
}

export interface PageView {
  title: string
  body: Markup
  status?: number
  formTargets?: string[]
  /** A script of this server. */
  script?: string
}

/** Renders a page. Links are relative to the address of the server, which may have a path prefix. */
export function renderPage(gateway: Pick<Gateway, 'settings'>, { title, body, ...rest }: PageView): Response {
  return renderHtmlPage({
    ...rest,
    base: `${pathPrefixOf(gateway)}/`,
    title: `${title} · Headgate`,
    icon: faviconUrl,
    body: html`<div class="brand">${new Markup(logoSvg)}Headgate</div><main><h1>${title}</h1>${body}</main>`
      .text,
    // With `no-referrer`, browsers also omit the origin of these pages' own forms.
    headers: { 'referrer-policy': 'same-origin' },
  })
}

export function renderProblemPage(gateway: Gateway, status: number, message: string): Response {
  return renderPage(gateway, { title: 'Something went wrong', body: html`<p>${message}</p>`, status })
}
