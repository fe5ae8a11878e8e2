import { pageStyle } from './page-style.ts'

/** Escapes text for use as content or attribute value. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

interface PageParts {
  /** The path that the links of the page are relative to. */
  base: string
  title: string
  /** HTML, already escaped. */
  body: string
  status?: number
  headers?: Record<string, string>
  /** Origins a form on this page may submit or redirect to. */
  formTargets?: string[]
  /** The only script the page may run. */
  script?: string
  /** The address of the icon, as a data URL. */
  icon?: string
  /** Styles in the place of the common ones. */
  style?: string
  /** A script of this server that runs before the page is painted. */
  earlyScript?: string
  /** Whether the page shows pictures of this server. */
  hasImages?: boolean
}

/** The CSP allows no frames, nothing of other servers, and no scripts but those of this server on a page that has one. */
export function renderHtmlPage(parts: PageParts): Response {
  const formAction = ["'self'", ...(parts.formTargets ?? [])].join(' ')
  const early = parts.earlyScript ? `<script src="${escapeHtml(parts.earlyScript)}"></script>` : ''
  const scriptPolicy = parts.script || parts.earlyScript ? " script-src 'self'; connect-src 'self';" : ''
  const script = parts.script ? `<script src="${escapeHtml(parts.script)}" defer></script>` : ''
  const icon = parts.icon ? `<link rel="icon" type="image/svg+xml" href="${escapeHtml(parts.icon)}">` : ''
  return new Response(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="${escapeHtml(parts.base)}"><meta name="viewport" content="width=device-width,initial-scale=1"><meta name="color-scheme" content="light dark"><title>${escapeHtml(parts.title)}</title>${icon}${early}<style>${parts.style ?? pageStyle}</style>${script}</head><body>${parts.body}</body></html>`,
    {
      status: parts.status ?? 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none';${scriptPolicy} style-src 'unsafe-inline'; img-src${parts.hasImages ? " 'self'" : ''} data:; font-src 'self'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'self'`,
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        ...parts.headers,
      },
    },
  )
}
