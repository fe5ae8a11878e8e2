import type { ModelDeclaration } from '../../src/catalog/declared-model.ts'
import type { Provider } from '../../src/catalog/provider.ts'
import { listPriceListOffers } from './list-offers.ts'
import { type Disagreement, mergeOffers } from './merge-offers.ts'
import { buildModel } from './model.ts'
import { KnownModels } from './model-identity.ts'
import { endpointKey, type Offer } from './offer.ts'
import { findNewestPrice, listKnownNames, listPackageOffers } from './package-offers.ts'
import type { PriceEntry } from './price-list.ts'

export interface SourceRecord {
  name: string
  version: string
  /** Date of its newest prices. */
  date: string
}

export interface SnapshotDeclaration {
  /** The day whose prices are in effect. */
  date: string
  sources: SourceRecord[]
  models: ModelDeclaration[]
}

export interface PriceList {
  source: SourceRecord
  entries: PriceEntry[]
}

export interface BuiltSnapshot {
  snapshot: SnapshotDeclaration
  disagreements: Disagreement[]
  /** Endpoints in both sources. */
  compared: number
  /** Formats that no provider has yet, with the models that need them. */
  missingFormats: Map<string, string[]>
}

export interface BuildOptions {
  date: string
  packageVersion: string
  priceList: PriceList
  providers: readonly Provider[]
}

/** Deterministic for its options. */
export function buildSnapshot({ date, packageVersion, priceList, providers }: BuildOptions): BuiltSnapshot {
  const bySlug = new Map(providers.map((provider) => [provider.slug, provider]))
  const fromPackage = listPackageOffers(date)
  const packageSource = {
    name: '@pydantic/genai-prices',
    version: packageVersion,
    date: findNewestPrice(date),
  }
  const listed = listPriceListOffers(priceList.entries, new Set(bySlug.keys()))
  const fromList = dropExpired(unifySpelling(listed, fromPackage), fromPackage, date)
  const isListNewer = priceList.source.date >= packageSource.date
  const { offers, ...comparison } = mergeOffers(fromPackage, fromList, isListNewer)
  const names = listKnownNames()
  const built = [...Map.groupBy(offers, (offer) => offer.id).values()].map((group) =>
    buildModel(group, bySlug, names),
  )
  const models = removeSharedAliases(built.map(({ model }) => model))
  return {
    snapshot: {
      date,
      sources: [packageSource, priceList.source],
      models: models.sort((a, b) => (a.id < b.id ? -1 : 1)),
    },
    ...comparison,
    missingFormats: collectMissing(built),
  }
}

/**
 * One id for a model that the sources or providers spell differently: the package's, else that of the first seller. An
 * endpoint that the package has under the same upstream name is the same one.
 */
function unifySpelling(offers: Offer[], fromPackage: Offer[]): Offer[] {
  const known = new KnownModels(fromPackage.map(({ id }) => id))
  const byUpstream = new Map(fromPackage.map((offer) => [`${offer.provider} ${offer.upstream}`, offer]))
  const unified = new Map<string, Offer>()
  for (const offer of offers) {
    const same = byUpstream.get(`${offer.provider} ${offer.upstream}`)
    const named = same ? { ...offer, ...identityOf(same) } : resolveIdentity(offer, known)
    const key = endpointKey(named)
    if (!unified.has(key)) unified.set(key, named)
  }
  return [...unified.values()]
}

function identityOf({ id, variant }: Offer): Pick<Offer, 'id' | 'variant'> {
  return { id, variant }
}

/** Resolves the model of an offer: an apparent variant may be a model of its own. */
function resolveIdentity(offer: Offer, known: KnownModels): Offer {
  const { fullId, variant } = offer
  if (fullId && known.has(fullId)) return { ...offer, id: fullId, variant: undefined }
  return { ...offer, id: known.resolve(offer.id), variant }
}

/** Models that only the price list has are not listed after the day on which it says they are switched off. */
function dropExpired(offers: Offer[], fromPackage: Offer[], date: string): Offer[] {
  const known = new Set(fromPackage.map(({ id, provider }) => `${id} ${provider}`))
  return offers.filter(({ id, provider, entry }) => {
    const end = entry?.fields.deprecation_date
    return typeof end !== 'string' || end >= date || known.has(`${id} ${provider}`)
  })
}

/** Removes aliases of more than one model. */
function removeSharedAliases(models: ModelDeclaration[]): ModelDeclaration[] {
  const uses = new Map<string, number>()
  for (const name of models.flatMap((model) => [model.id, ...(model.aliases ?? [])])) {
    uses.set(name, (uses.get(name) ?? 0) + 1)
  }
  return models.map(({ aliases = [], ...model }) => {
    const unique = aliases.filter((alias) => uses.get(alias) === 1)
    return unique.length > 0 ? { ...model, aliases: unique } : model
  })
}

function collectMissing(built: ReturnType<typeof buildModel>[]): Map<string, string[]> {
  const missing = new Map<string, string[]>()
  for (const { model, missingFormats } of built) {
    for (const name of missingFormats) missing.set(name, [...(missing.get(name) ?? []), model.id])
  }
  return missing
}
