import { escapeHtml, renderHtmlPage } from '../lib/html.ts'

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
  /** The path of a script of this server. */
  script?: string
}

export function renderPage({ title, body, ...rest }: PageView): Response {
  return renderHtmlPage({
    ...rest,
    title: `${title} · Headgate`,
    body: html`<main><h1>${title}</h1>${body}</main>`.text,
    // With `no-referrer`, browsers also omit the origin of these pages' own forms.
    headers: { 'referrer-policy': 'same-origin' },
  })
}

export function renderProblemPage(status: number, message: string): Response {
  return renderPage({ title: 'Something went wrong', body: html`<p>${message}</p>`, status })
}
