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
}

const style = `
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:3rem auto;padding:0 1.25rem}
main{max-width:34rem;overflow-wrap:anywhere}code,pre{font:14px ui-monospace,monospace}pre{overflow:auto;padding:.75rem;border:1px solid #8884;border-radius:6px}
button,input,select{font:inherit;padding:.45rem .9rem;border-radius:6px;border:1px solid #8888;box-sizing:border-box;max-width:100%}button.primary{background:#1457d9;color:#fff;border-color:#1457d9}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;border-bottom:1px solid #8883}
details{margin:.35rem 0;border:1px solid #8884;border-radius:6px;padding:.4rem .75rem}summary{cursor:pointer}.quiet{opacity:.7}`

/** The CSP allows no frames, no external resources, and no scripts but those of this server on a page that has one. */
export function renderHtmlPage(parts: PageParts): Response {
  const formAction = ["'self'", ...(parts.formTargets ?? [])].join(' ')
  const scriptPolicy = parts.script ? " script-src 'self'; connect-src 'self';" : ''
  const script = parts.script ? `<script src="${escapeHtml(parts.script)}" defer></script>` : ''
  return new Response(
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><base href="${escapeHtml(parts.base)}"><meta name="viewport" content="width=device-width,initial-scale=1"><title>${escapeHtml(parts.title)}</title><style>${style}</style>${script}</head><body>${parts.body}</body></html>`,
    {
      status: parts.status ?? 200,
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': `default-src 'none';${scriptPolicy} style-src 'unsafe-inline'; form-action ${formAction}; frame-ancestors 'none'; base-uri 'self'`,
        'x-frame-options': 'DENY',
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
        ...parts.headers,
      },
    },
  )
}
