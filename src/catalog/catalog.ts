import type { Environment } from '../config.ts'
import { compileModel } from './compile-model.ts'
import type { DeclaredCatalog, DeclaredProvider } from './declared.ts'
import { type DeclaredModel, declaredModel } from './declared-model.ts'
import type { ModelLists } from './discovery/listed-model.ts'
import { installProvider } from './install.ts'
import { indexModels, type ModelIndex } from './lookup.ts'
import type { CatalogProvider, Model } from './model.ts'
import { type Provider, unknownDataPolicy } from './provider.ts'
import { applyAuthFields } from './provider-auth/all.ts'
import { buildRouterModels, type RouterIndex } from './router-models.ts'
import { readSnapshot } from './snapshot.ts'
import { Wildcards } from './wildcards.ts'

/** Every model and provider, indexed for lookup. Immutable: a reload builds a new one. */
export interface Catalog extends ModelIndex, RouterIndex {
  /** The date of the prices of the built-in models. */
  readonly snapshotDate: string
  readonly models: readonly Model[]
  readonly providers: readonly CatalogProvider[]
  /** Providers by slug, display name in lower case, and neutral vendor name. */
  readonly providerByName: ReadonlyMap<string, CatalogProvider>
}

export interface CatalogSources {
  settings: DeclaredCatalog
  providers: Provider[]
  environment: Environment
  /** The lists of models that providers have themselves. */
  lists?: ModelLists
  /** Router models that are not offered. */
  disabledRouters?: readonly string[]
}

export function buildCatalog(sources: CatalogSources): Catalog {
  const all = buildProviders(sources)
  const bySlug = new Map(all.map((provider) => [provider.slug, provider]))
  const vendors = new Map(sources.providers.map(({ author, vendor }) => [author, vendor]))
  const listingTime = createListingTime(sources.settings)
  const declared = [...mergeDeclaredModels(sources).values()].map(({ model }) => model)
  const models = declared.flatMap((model) => compileModel(model, bySlug, vendors, listingTime(model)))
  const listedAt = Date.parse(readSnapshot().date) / 1000
  const { lists = new Map(), disabledRouters = [] } = sources
  const wildcards = new Wildcards({ providers: all, models, declared, lists, vendors, listedAt })
  return {
    snapshotDate: readSnapshot().date,
    models,
    providers: all,
    providerByName: indexProviders(all),
    routers: buildRouterModels(models, listedAt, disabledRouters),
    ...indexModels(models, wildcards),
  }
}

/** Finds the time a model was listed: its release date, the time it was declared, or the date of the snapshot. */
function createListingTime({ declaredAt }: DeclaredCatalog): (model: DeclaredModel) => number {
  const snapshot = Date.parse(readSnapshot().date) / 1000
  return ({ id, created }) => created || (declaredAt?.get(id) ?? snapshot)
}

type BuiltInModel = NonNullable<Provider['models']>[number]

export interface SourcedModel {
  model: DeclaredModel
  source: 'headgate.yaml' | 'snapshot' | 'built_in'
}

/** Every model by id. headgate.yaml overrides the snapshot, which overrides the providers. */
export function mergeDeclaredModels({
  settings,
  providers,
}: Pick<CatalogSources, 'settings' | 'providers'>): Map<string, SourcedModel> {
  const merged = new Map<string, SourcedModel>()
  const add = (model: DeclaredModel, source: SourcedModel['source']) => {
    if (!merged.has(model.id)) merged.set(model.id, { model, source })
  }
  for (const model of settings.models) add(model, 'headgate.yaml')
  for (const model of readSnapshot().models) add(model, 'snapshot')
  for (const model of providers.flatMap((provider) => provider.models ?? [])) {
    add(parseBuiltIn(model), 'built_in')
  }
  return merged
}

const builtInModels = new WeakMap<BuiltInModel, DeclaredModel>()

function parseBuiltIn(model: BuiltInModel): DeclaredModel {
  const parsed = builtInModels.get(model) ?? declaredModel.parse(model)
  builtInModels.set(model, parsed)
  return parsed
}

export function buildProviders({
  settings: { providers: declared },
  providers: builtIn,
  environment,
}: CatalogSources): CatalogProvider[] {
  const bySlug = new Map(declared.map((provider) => [provider.slug, provider]))
  const known = new Map(builtIn.map((provider) => [provider.slug, provider]))
  const isEnabled = ({ slug }: { slug: string }) => bySlug.get(slug)?.enabled !== false
  return [
    ...builtIn.filter(isEnabled).map((provider) => {
      const changes = bySlug.get(provider.slug)
      return installProvider(changes ? mergeProvider(provider, changes) : provider, changes, environment)
    }),
    ...declared
      .filter((provider) => isEnabled(provider) && !known.has(provider.slug))
      .map((provider) =>
        installProvider(mergeProvider(findBaseProvider(provider, known), provider), provider, environment),
      ),
  ]
}

/** The key in the environment belongs to the built-in provider, not to one declared `like` it. */
function findBaseProvider(
  { like, base_url }: DeclaredProvider,
  known: ReadonlyMap<string, Provider>,
): Provider {
  const base = known.get(like ?? '')
  if (!base) return blankProvider
  const { models: _itsOwn, vendor: _neutral, ...rest } = base
  return { ...rest, keyVariable: base_url === undefined ? '' : null }
}

/** The defaults of a declared provider, with the most cautious data policy. */
const blankProvider: Provider = {
  slug: '',
  name: '',
  baseUrl: '',
  keyVariable: null,
  wireFormats: [],
  regions: ['global'],
  dataPolicy: unknownDataPolicy,
  headquarters: null,
  datacenters: null,
  privacyPolicyUrl: null,
  termsOfServiceUrl: null,
  statusPageUrl: null,
}

function mergeProvider(provider: Provider, changes: DeclaredProvider): Provider {
  return {
    ...provider,
    slug: changes.slug,
    name: changes.name ?? provider.name,
    ...(changes.base_url && { baseUrl: changes.base_url, addresses: [] }),
    ...(provider.auth && { auth: applyAuthFields(provider.auth, changes) }),
    wireFormats: changes.dialects ?? provider.wireFormats,
    ...(changes.model_list && { modelList: changes.model_list }),
    ...(changes.wildcards && { wildcards: changes.wildcards }),
    ...(changes.like && changes.base_url === undefined && { pricedAs: changes.like }),
    ...(changes.key_header && { keyHeader: changes.key_header }),
    ...(changes.headers && { headers: changes.headers }),
    ...(changes.abilities && { capabilities: changes.abilities }),
    ...(changes.reasoning_field && { reasoningHistory: { field: changes.reasoning_field } }),
    ...(changes.bills_abandoned !== undefined && { billsAbandoned: changes.bills_abandoned }),
    ...mergeAttemptPolicy(provider, changes),
    ...(changes.rate_limits && { rateLimits: changes.rate_limits }),
    regions: changes.regions ?? provider.regions,
    dataPolicy: changes.data_policy ?? provider.dataPolicy,
    headquarters: changes.headquarters ?? provider.headquarters,
    datacenters: changes.datacenters ?? provider.datacenters,
    privacyPolicyUrl: changes.privacy_policy_url ?? provider.privacyPolicyUrl,
    termsOfServiceUrl: changes.terms_of_service_url ?? provider.termsOfServiceUrl,
    statusPageUrl: changes.status_page_url ?? provider.statusPageUrl,
  }
}

function mergeAttemptPolicy(
  { attemptPolicy }: Provider,
  { timeout, retry, hedge }: DeclaredProvider,
): Pick<Provider, 'attemptPolicy'> {
  if (timeout === undefined && retry === undefined && hedge === undefined) return {}
  return {
    attemptPolicy: {
      ...attemptPolicy,
      ...(timeout !== undefined && { timeout }),
      ...(retry !== undefined && { retry }),
      ...(hedge !== undefined && { hedge }),
    },
  }
}

function indexProviders(providers: readonly CatalogProvider[]): Map<string, CatalogProvider> {
  const byName = new Map(providers.map((provider) => [provider.slug, provider]))
  for (const provider of providers) {
    for (const name of [provider.name.toLowerCase(), provider.vendor]) {
      if (name && !byName.has(name)) byName.set(name, provider)
    }
  }
  return byName
}
