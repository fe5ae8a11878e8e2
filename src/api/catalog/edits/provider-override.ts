import { buildProviders } from '../../../catalog/catalog.ts'
import type { ProviderOverride } from '../../../catalog/override-schema.ts'
import { encryptFields, openSecrets, restoreMasked } from '../../../catalog/override-secrets.ts'
import { resolveOrigin } from '../../../catalog/overrides.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { buildCatalogSources } from '../../../gateway/reload.ts'
import type { NewOverride } from './overrides.ts'
import { readOrNull } from './record.ts'

/** The override of a provider from the body of a request, whose masked secrets are the stored ones. */
export function newProviderOverride(gateway: Gateway, slug: string, body: ProviderOverride): NewOverride {
  return {
    name: { kind: 'provider', name: slug, tag: '' },
    build: (existing) => {
      const known = buildProviders(buildCatalogSources(gateway)).find((provider) => provider.slug === slug)
      const origin = resolveOrigin(known, body.base_url)
      const stored = existing ? readOrNull(() => openSecrets(gateway.vault, existing)) : null
      return encryptFields(gateway.vault, slug, origin, restoreMasked(body, stored, origin))
    },
  }
}
