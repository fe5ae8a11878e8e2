import { credentialFormOf } from '../../../catalog/credential.ts'
import { isKeyless } from '../../../catalog/model.ts'
import { originOf } from '../../../catalog/provider-settings.ts'
import type { Gateway } from '../../../gateway/gateway.ts'
import { engineOrigin } from '../../../inference/web/access.ts'
import { findSearchEngine } from '../../../inference/web/engines/all.ts'
import { invalidFieldError } from '../../../platform/errors/gateway-error.ts'
import { resolveLabel } from './credential.ts'
import { neutralNames, uncatalogedForms, uncatalogedProviders } from './providers.ts'

/** Maps any name of a provider to its catalog slug. */
export function resolveProviderSlug(gateway: Gateway, name: string): string {
  const slug = neutralNames.get(name) ?? name
  const known = gateway.catalog.providerByName.get(slug)
  // The catalog also resolves display names, which are not valid here.
  if (known && (known.slug === slug || known.vendor === slug)) return known.slug
  if (uncatalogedProviders.has(name) || isKeyedEngine(name)) return name
  throw invalidFieldError('provider', 'is not a known provider')
}

/** Rejects a provider without keys: requests would cost only the fee, while the installation pays for the upstream. */
export function rejectKeylessProvider({ catalog }: Gateway, slug: string): void {
  const known = catalog.providerByName.get(slug)
  if (known && isKeyless(known)) throw invalidFieldError('provider', 'does not use a key on this server')
}

export function resolveKeyLabel({ catalog, settings }: Gateway, provider: string, key: string): string {
  const known = catalog.providerByName.get(provider)
  const form = (known && credentialFormOf(known)) ?? uncatalogedForms.get(provider)
  return resolveLabel(key, form, settings.egress.allow_private)
}

/** The key is sent to this origin only, even if the provider's address changes. */
export function findProviderOrigin({ catalog, settings }: Gateway, provider: string): string | null {
  const known = catalog.providerByName.get(provider)
  const engine = findSearchEngine(provider)
  if (known) return originOf(known)
  return engine ? engineOrigin(settings.web, engine) : null
}

/** A web search engine that is no provider of models. */
function isKeyedEngine(id: string): boolean {
  const api = findSearchEngine(id)?.api
  return api?.kind === 'http' && api.needsKey
}
