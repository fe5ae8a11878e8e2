import { routerPrefix, type VendorName } from '../formats/vocabulary.ts'
import { compileModel } from './compile-model.ts'
import { type DeclaredEndpoint, type DeclaredModel, declaredModel } from './declared-model.ts'
import type { ListedModel, ModelLists } from './discovery/listed-model.ts'
import type { CatalogProvider, Model } from './model.ts'

interface WildcardSources {
  providers: readonly CatalogProvider[]
  models: readonly Model[]
  declared: readonly DeclaredModel[]
  lists: ModelLists
  vendors: ReadonlyMap<string | undefined, VendorName | undefined>
  listedAt: number
}

/** What the catalog knows of a model at a provider, under any id. */
interface KnownModel {
  model: DeclaredModel
  endpoints: DeclaredEndpoint[]
}

/** A provider that serves the names that begin with the prefix. */
interface Wildcard {
  provider: CatalogProvider
  /** The part of a name before `*`. */
  prefix: string
  /** The part that is not the provider's name of the model: up to the last slash of the prefix. */
  own: string
}

/** Names that were looked up, known and unknown: requests choose them, so they do not grow without limit. */
const maxNames = 2000

const namePattern = /^[\w.:/@+-]{1,200}$/

/** Models that no source declares, of providers with patterns such as `openai/*`. */
export class Wildcards {
  readonly #sources: WildcardSources
  readonly #wildcards: readonly Wildcard[]
  readonly #found = new Map<string, Model | null>()
  #known: ReadonlyMap<string, KnownModel> | null = null
  #listed: ReadonlyMap<string, ListedModel> | null = null
  #all: readonly Model[] | null = null

  constructor(sources: WildcardSources) {
    this.#sources = sources
    this.#wildcards = sources.providers.flatMap((provider) =>
      (provider.wildcards ?? []).map((pattern) => {
        const prefix = pattern.slice(0, -1)
        return { provider, prefix, own: prefix.slice(0, prefix.lastIndexOf('/') + 1) }
      }),
    )
  }

  /** The model of a name that no model has. */
  find(name: string): Model | undefined {
    if (this.#wildcards.length === 0 || !namePattern.test(name) || name.startsWith(routerPrefix))
      return undefined
    const known = this.#found.get(name)
    if (known !== undefined) return known ?? undefined
    const model = this.#compile(name)
    const oldest = this.#found.keys().next()
    if (this.#found.size >= maxNames && !oldest.done) this.#found.delete(oldest.value)
    this.#found.set(name, model)
    return model ?? undefined
  }

  /** The models of the catalog, and those that providers with patterns list. The same array every time. */
  listAll(): readonly Model[] {
    this.#all ??= this.#listAll()
    return this.#all
  }

  #listAll(): readonly Model[] {
    const { models, lists } = this.#sources
    const names = new Set<string>()
    for (const { provider, prefix, own } of this.#wildcards)
      for (const { id } of lists.get(provider.slug) ?? [])
        if ((own + id).startsWith(prefix) && namePattern.test(own + id)) names.add(own + id)
    for (const { id } of models) names.delete(id)
    if (names.size === 0) return models
    return [...models, ...[...names].flatMap((name) => this.#compile(name) ?? [])]
  }

  #compile(name: string): Model | null {
    const { providers, vendors, listedAt } = this.#sources
    const matches = this.#wildcards.filter(({ prefix }) => name.startsWith(prefix) && name !== prefix)
    const declared = matches.flatMap(({ provider, own }) =>
      this.#declare(provider, name, name.slice(own.length)),
    )
    const [first] = declared
    if (!first) return null
    const endpoints = [
      ...new Map(declared.flatMap((one) => one.endpoints).map((one) => [tagKey(one), one])).values(),
    ]
    const bySlug = new Map(providers.map((provider) => [provider.slug, provider]))
    return compileModel({ ...first, endpoints }, bySlug, vendors, listedAt)[0] ?? null
  }

  /** From the facts of the catalog if it has any of the model at the provider, else from the provider's list. */
  #declare(provider: CatalogProvider, name: string, upstream: string): DeclaredModel[] {
    if (upstream === '') return []
    const naming = { id: name, canonical_slug: undefined, aliases: [], replacement: null }
    const known = this.#findKnown(provider, upstream)
    if (known) {
      const endpoints = known.endpoints.map((endpoint) => ({ ...endpoint, provider: provider.slug }))
      return [{ ...known.model, ...naming, endpoints }]
    }
    const listed = this.#findListed(provider, upstream)
    return [{ ...emptyModel, ...naming, name, ...describe(provider, upstream, listed) }]
  }

  #findKnown(provider: CatalogProvider, upstream: string): KnownModel | undefined {
    this.#known ??= indexKnown(this.#sources.declared)
    return this.#known.get(`${provider.pricedAs ?? provider.slug} ${upstream}`)
  }

  #findListed({ slug }: CatalogProvider, upstream: string): ListedModel | undefined {
    this.#listed ??= new Map(
      [...this.#sources.lists].flatMap(([provider, models]) =>
        models.map((model) => [`${provider} ${model.id}`, model] as const),
      ),
    )
    return this.#listed.get(`${slug} ${upstream}`)
  }
}

function tagKey({ provider, variant, service_tier }: DeclaredEndpoint): string {
  return `${provider} ${variant} ${service_tier}`
}

function indexKnown(models: readonly DeclaredModel[]): Map<string, KnownModel> {
  const known = new Map<string, KnownModel>()
  for (const model of models) {
    const byName = Map.groupBy(model.endpoints, (one) => `${one.provider} ${one.upstream_model}`)
    for (const [key, endpoints] of byName) if (!known.has(key)) known.set(key, { model, endpoints })
  }
  return known
}

const { endpoints: _none, ...emptyModel } = declaredModel.parse({
  id: 'author/model',
  name: 'Model',
  endpoints: [{ provider: 'provider', upstream_model: 'model' }],
})

function describe(
  provider: CatalogProvider,
  upstream: string,
  listed: ListedModel | undefined,
): Pick<DeclaredModel, 'endpoints'> & Partial<DeclaredModel> {
  const facts: Partial<ListedModel> = listed ?? {}
  const { name, context_length, input_modalities, output_modalities, max_completion_tokens, pricing } = facts
  const { dialects = provider.listDialects?.(upstream) } = facts
  return {
    ...(name !== undefined && { name }),
    ...(context_length !== undefined && { context_length }),
    ...(input_modalities && { input_modalities }),
    ...(output_modalities && { output_modalities }),
    endpoints: [
      {
        provider: provider.slug,
        upstream_model: upstream,
        prompt_unit: 'token',
        ...(max_completion_tokens !== undefined && { max_completion_tokens }),
        ...(pricing && { pricing }),
        ...(dialects && { dialects }),
      },
    ],
  }
}
