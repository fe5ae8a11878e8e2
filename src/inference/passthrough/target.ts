import { compileModel } from '../../catalog/compile-model.ts'
import { declaredModel } from '../../catalog/declared-model.ts'
import type { CatalogProvider, Endpoint, Model } from '../../catalog/model.ts'
import type { EndpointPricing } from '../../catalog/price.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asString, type JsonObject } from '../../platform/json/json-values.ts'

/** What a request is recorded and priced as. */
export interface Target {
  model: Model
  endpoint: Endpoint
  /** Whether the reply is billed by the tokens that it reports, not by request. */
  isByToken: boolean
}

/** A model of the catalog that a request names, as the provider names it. */
export interface NamedEndpoint {
  model: Model
  endpoint: Endpoint
}

type EndpointsByName = ReadonlyMap<string, readonly NamedEndpoint[]>

const endpointIndexes = new WeakMap<Gateway['catalog'], Map<string, EndpointsByName>>()

/** The endpoint of a provider by the provider's name for its model; null if the catalog has none. */
export function findNamedEndpoint(
  { catalog }: Gateway,
  { slug }: CatalogProvider,
  name: string,
  tier: string | null,
): NamedEndpoint | null {
  const indexes = endpointIndexes.get(catalog) ?? new Map<string, EndpointsByName>()
  endpointIndexes.set(catalog, indexes)
  const index = indexes.get(slug) ?? indexEndpoints(catalog.models, slug)
  indexes.set(slug, index)
  return index.get(name)?.find(({ endpoint }) => endpoint.service_tier === tier) ?? null
}

function indexEndpoints(models: readonly Model[], slug: string): EndpointsByName {
  const index = new Map<string, NamedEndpoint[]>()
  for (const model of models) {
    for (const endpoint of model.endpoints) {
      if (endpoint.provider.slug !== slug) continue
      index.set(endpoint.upstream_model, [...(index.get(endpoint.upstream_model) ?? []), { model, endpoint }])
    }
  }
  return index
}

const modelInPath = /\/(?:models?|engines|deployments)\/([^/:]+)/

/** The model that a request names in its body or its path; null if in neither. */
export function readModelName(path: string, body: JsonObject | null): string | null {
  const named = asString(body?.model) ?? asString(body?.modelId)
  const name = named ?? decodeURIComponent(modelInPath.exec(path)?.[1] ?? '')
  return name === '' ? null : name.replace(/^models\//, '')
}

/** The tier of the prices that apply; null is the default. */
export function readTier(body: JsonObject | null): string | null {
  const tier = asString(body?.service_tier)
  return tier === undefined || ['auto', 'default', 'standard', 'standard_only'].includes(tier) ? null : tier
}

const targets = new WeakMap<object, Map<string, Target>>()
/** Prices of one provider or endpoint: as many as there are rules. */
const maxTargets = 200

/** The same object for the same price, because figures are collected by endpoint. */
export function selectTarget(
  provider: CatalogProvider,
  named: NamedEndpoint | null,
  price: string | null,
): Target {
  const owner = named?.endpoint ?? provider
  const known = targets.get(owner) ?? new Map<string, Target>()
  targets.set(owner, known)
  const name = price ?? ''
  const target = known.get(name) ?? createTarget(provider, named, price)
  if (known.size >= maxTargets) known.clear()
  known.set(name, target)
  return target
}

function createTarget(provider: CatalogProvider, named: NamedEndpoint | null, price: string | null): Target {
  const { model, endpoint } = named ?? createUnnamed(provider)
  const isByToken = price === null && named !== null && isPricedByToken(model, endpoint)
  const pricing: EndpointPricing | null =
    price === null ? (isByToken ? endpoint.pricing : null) : { prompt: '0', completion: '0', request: price }
  // Its health and its rates are not those of requests that the gateway translates.
  const id = `${endpoint.id} passthrough`
  return { model, endpoint: { ...endpoint, provider, id, pricing, attempts: null, rates: null }, isByToken }
}

/** Images, seconds and characters are not in the usage of a reply. */
function isPricedByToken({ output_modalities }: Model, { pricing }: Endpoint): boolean {
  if (!pricing || pricing.units || pricing.image_output || pricing.request) return false
  return output_modalities.every((output) => output === 'text' || output === 'embeddings')
}

/** What an operation without a model of the catalog is recorded as. */
function createUnnamed(provider: CatalogProvider): NamedEndpoint {
  const declared = declaredModel.parse({
    id: `${provider.slug}/passthrough`,
    name: `${provider.name} pass-through`,
    description: 'Operations of the provider that clients use as they are.',
    endpoints: [{ provider: provider.slug, upstream_model: 'passthrough' }],
  })
  const [model] = compileModel(declared, new Map([[provider.slug, provider]]), new Map(), 0)
  const endpoint = model?.endpoints[0]
  if (!model || !endpoint) throw invalidFieldError('provider', 'cannot be used for pass-through')
  return { model, endpoint }
}
