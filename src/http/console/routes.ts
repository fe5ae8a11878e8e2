import { fileURLToPath } from 'node:url'
import { pathPrefixOf } from '../../access/origin.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { PathRequest, RawRoute } from '../operation.ts'
import { html, renderPage } from '../pages/markup.ts'
import { ConsoleFiles } from './console-files.ts'
import { renderDocument } from './document.ts'

const files = new ConsoleFiles(fileURLToPath(new URL('../../../console/dist', import.meta.url)))

/** Scripts and data come from this server only. Styles may be inline: the components set sizes and positions. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'self'",
].join('; ')

/** The page of every screen: the script reads the address. */
async function showConsole(gateway: Gateway, request: Request): Promise<Response> {
  const manifest = await files.readManifest()
  if (!manifest) return renderBuildPage(gateway)
  const isFirstScreen = new URL(request.url).pathname === '/'
  return new Response(renderDocument(manifest, `${pathPrefixOf(gateway)}/`, isFirstScreen), {
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
    },
  })
}

/** Shown by the first start, which builds the console beside the server. */
function renderBuildPage(gateway: Gateway): Response {
  const response = renderPage(gateway, {
    title: 'The console is being built',
    body: html`<p>This takes a few seconds after the first start; the page reloads by itself. If it stays, the
terminal of the server says what went wrong. The API works meanwhile: see <a href="openapi.json">openapi.json</a>.</p>`,
    status: 503,
  })
  response.headers.set('refresh', '2')
  response.headers.set('retry-after', '2')
  return response
}

async function sendAsset(_: Gateway, request: PathRequest): Promise<Response> {
  const asset = await files.findAsset(
    request.params?.name ?? '',
    request.headers.get('accept-encoding') ?? '',
  )
  if (!asset) throw gatewayError('route_unknown')
  return asset
}

/** The page of the console, whose screens have addresses that only its script knows. */
export const consolePage: RawRoute = { method: 'GET', path: '/', handle: showConsole }

export const consoleRoutes: RawRoute[] = [
  consolePage,
  { method: 'GET', path: '/assets/:name', handle: sendAsset },
]
