import type { Catalog } from '../../catalog/catalog.ts'
import type { Model } from '../../catalog/model.ts'

/** Signs in a model's record that it is meant for demanding work. */
const capabilities: readonly ((model: Model) => boolean)[] = [
  ({ supported_parameters }) => supported_parameters.includes('tools'),
  ({ supported_parameters }) =>
    supported_parameters.includes('structured_outputs') || supported_parameters.includes('response_format'),
  ({ supported_parameters }) => supported_parameters.includes('reasoning'),
  ({ context_length }) => (context_length ?? 0) >= 128_000,
]

const dayMs = 86_400_000
/** An older release is behind the models of its price, even if its vendor has no newer one of that name. */
const currentMs = 365 * dayMs
/** A model that its vendor withdraws within this time is not recommended for new work. */
const withdrawalMs = 90 * dayMs
/** A model sold by this many providers is as well known as any. */
const manyProviders = 8

const weights = { isCurrent: 0.5, capabilities: 0.3, providers: 0.2 }

const latestModels = new WeakMap<Catalog, ReadonlySet<Model>>()

/**
 * Estimates how strong and well known a model is by the facts of the catalog, from 0 to 1: whether it is the newest
 * release of its family and stays available, what it can do, and how many providers sell it. Ranks models that no
 * benchmark has measured: their price alone says little.
 */
export function estimateStanding(catalog: Catalog, model: Model, now: number): number {
  const isCurrent = latestOf(catalog).has(model) && !isOld(model, now) && !isWithdrawn(model, now)
  const capable = capabilities.filter((has) => has(model)).length / capabilities.length
  const providers = new Set(model.endpoints.map(({ provider }) => provider.slug)).size
  const known = Math.min(1, Math.log2(1 + providers) / Math.log2(1 + manyProviders))
  return (isCurrent ? weights.isCurrent : 0) + weights.capabilities * capable + weights.providers * known
}

function latestOf(catalog: Catalog): ReadonlySet<Model> {
  const known = latestModels.get(catalog)
  if (known) return known
  const latest = new Set(catalog.latest.values())
  latestModels.set(catalog, latest)
  return latest
}

/** Whether a release is old; one without a known date counts as new. */
function isOld({ created }: Model, now: number): boolean {
  return created > 0 && now - created * 1000 > currentMs
}

function isWithdrawn({ expiration_date }: Model, now: number): boolean {
  return expiration_date != null && Date.parse(expiration_date) - now < withdrawalMs
}
