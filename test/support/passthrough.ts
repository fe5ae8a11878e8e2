import { installProvider } from '../../src/catalog/install.ts'
import type { Provider } from '../../src/catalog/provider.ts'
import { openai } from '../../src/catalog/providers/openai.ts'
import { passthroughMethods } from '../../src/inference/passthrough/settings.ts'
import type { TestServer } from './harness.ts'

/** A provider on loopback that accepts every operation. */
let upstream: ReturnType<typeof Bun.serve> | null = null

function startAcceptingUpstream(): string {
  upstream ??= Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => Response.json({ id: 'accepted' }) })
  upstream.unref()
  return upstream.url.origin
}

/** Declares that provider, with a rule for every workspace. */
export function allowPassthrough(
  { gateway }: TestServer,
  { slug = 'accepting', paths = ['/things/**'] }: { slug?: string; paths?: string[] } = {},
): void {
  const baseUrl = `${startAcceptingUpstream()}/v1`
  const provider: Provider = { ...openai, slug, baseUrl, keyVariable: null }
  const installed = installProvider(provider, { slug, api_key: 'sk-accepting' }, {})
  gateway.catalog = { ...gateway.catalog, providers: [installed, ...gateway.catalog.providers] }
  const methods = [...passthroughMethods]
  const rule = { provider: slug, methods, paths, workspaces: 'all' as const, unscanned: 'refuse' as const }
  gateway.settings = { ...gateway.settings, passthrough: [{ ...rule, price: '0' }] }
}
