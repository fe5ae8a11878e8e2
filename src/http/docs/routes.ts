import { fileURLToPath } from 'node:url'
import { limitAnonymous } from '../../access/request-limits.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { parseRequestUrl } from '../../platform/http/request-url.ts'
import type { RawRoute } from '../operation.ts'
import { renderErrors } from '../pages/browser.ts'
import { once } from '../routes.ts'
import { copyScriptPath, renderDocument, renderMissing, renderResults, schemeScriptPath } from './layout.ts'
import { SearchIndex } from './search.ts'

const folder = fileURLToPath(new URL('../../../docs', import.meta.url))
const copyScript = Bun.file(new URL('./copy-code.client.js', import.meta.url))
const schemeScript = Bun.file(new URL('./color-scheme.client.js', import.meta.url))

/** Read with the first visit, as is the parser. */
const openLibrary = once(async () => (await import('./library.ts')).loadLibrary(folder))
const openIndex = once(async () => new SearchIndex((await openLibrary()).pages.values()))

async function showFirstPage(gateway: Gateway, request: Request): Promise<Response> {
  const query = parseRequestUrl(request).searchParams.get('q')?.trim()
  if (!query) return showPage(gateway, request)
  await limitAnonymous(gateway, request, 'docs')
  const results = (await openIndex()).find(query)
  return renderResults(gateway, await openLibrary(), { query, results })
}

async function showPage(gateway: Gateway, request: Request): Promise<Response> {
  const path = parseRequestUrl(request).pathname.replace(/^\/docs\/?/, '')
  const library = await openLibrary()
  const image = library.images.get(path)
  if (image) return sendFile(Bun.file(image), 'image/png')
  const page = library.pages.get(path)
  if (page) return renderDocument(gateway, library, page)
  if (!request.headers.get('accept')?.includes('text/html')) throw gatewayError('route_unknown')
  return renderMissing(gateway, library)
}

function sendFile(file: Bun.BunFile, type: string): Response {
  return new Response(file, {
    headers: { 'content-type': type, 'cache-control': 'max-age=300', 'x-content-type-options': 'nosniff' },
  })
}

/** The documentation: public, like the source that it comes with. */
export const docsRoutes: RawRoute[] = [
  { method: 'GET', path: '/docs', handle: renderErrors(showFirstPage) },
  { method: 'GET', path: '/docs/*', handle: showPage },
  {
    method: 'GET',
    path: `/${copyScriptPath}`,
    handle: async () => sendFile(copyScript, 'text/javascript; charset=utf-8'),
  },
  {
    method: 'GET',
    path: `/${schemeScriptPath}`,
    handle: async () => sendFile(schemeScript, 'text/javascript; charset=utf-8'),
  },
]
