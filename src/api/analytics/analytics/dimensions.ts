import type { Dimension } from '../../../analytics/rollups/aggregator.ts'
import type { Catalog } from '../../../catalog/catalog.ts'
import { permaslugOf } from '../../../catalog/lookup.ts'
import { findTagValue } from '../../../governance/tags/tag.ts'

type NullableText = string | null

export interface DimensionDefinition {
  name: string
  label: string
  /** Limited to queries of at most 31 days; others may cover 365. */
  isShort: boolean
  column: Dimension['column']
  /** Converts a stored value to the one in the result. */
  read: (value: NullableText, catalog: Catalog) => NullableText
  /** Whether results have the value as it is stored. */
  isStoredValue?: true
  /** Distinct values in a result; further ones are `other`. */
  maxValues?: number
  /** Aliases a filter may use. */
  aliases?: (value: NullableText) => NullableText
}

const identity = (value: NullableText) => value

/** Every dimension of the API and its column. */
export const dimensions: readonly DimensionDefinition[] = [
  {
    name: 'model',
    label: 'Model',
    isShort: false,
    column: 'model',
    read: resolvePermaslug,
    aliases: identity,
  },
  { name: 'variant', label: 'Variant', isShort: false, column: 'model', read: variantOf },
  {
    name: 'api_key_id',
    label: 'API key',
    isShort: false,
    column: 'key',
    read: identity,
    isStoredValue: true,
  },
  { name: 'user', label: 'User', isShort: false, column: 'user', read: identity, isStoredValue: true },
  {
    name: 'workspace',
    label: 'Workspace',
    isShort: false,
    column: 'workspace',
    read: identity,
    isStoredValue: true,
  },
  { name: 'app', label: 'App', isShort: false, column: 'app', read: urlOf },
  {
    name: 'generation_id',
    label: 'Generation',
    isShort: true,
    column: 'id',
    read: identity,
    isStoredValue: true,
  },
  {
    name: 'provider',
    label: 'Provider',
    isShort: true,
    column: 'provider',
    read: resolveProviderName,
    aliases: identity,
  },
  { name: 'origin', label: 'Origin', isShort: true, column: 'app', read: originOf },
  { name: 'country', label: 'Country', isShort: true, column: 'none', read: () => null },
  {
    name: 'finish_reason',
    label: 'Finish reason',
    isShort: true,
    column: 'finish',
    read: identity,
    isStoredValue: true,
  },
  {
    name: 'external_user',
    label: 'External user',
    isShort: true,
    column: 'external',
    read: identity,
    isStoredValue: true,
  },
  {
    name: 'context_length_bucket',
    label: 'Context length',
    isShort: true,
    column: 'context',
    read: identity,
    isStoredValue: true,
  },
]

const dimensionsByName: ReadonlyMap<string, DimensionDefinition> = new Map(
  dimensions.map((dimension) => [dimension.name, dimension]),
)

const tagPrefix = 'tag:'

/** The dimension of a tag, such as `tag:project`: its values are those of one name. */
export const tagDimension = /^tag:[a-z0-9_.-]{1,64}$/

export function findDimension(name: string): DimensionDefinition | undefined {
  return dimensionsByName.get(name) ?? (tagDimension.test(name) ? createTagDimension(name) : undefined)
}

function createTagDimension(name: string): DimensionDefinition {
  const tag = name.slice(tagPrefix.length)
  return {
    name,
    label: tag,
    isShort: true,
    column: 'tags',
    read: (stored) => findTagValue(stored, tag),
    maxValues: maxTagValues,
  }
}

/** Clients choose the values, as many as they like. */
const maxTagValues = 1000

/** The value of a dimension that stands for those beyond the most frequent ones. */
export const otherValue = 'other'

/** The permanent slug; a model that is no longer in the catalog keeps the requested name. */
export function resolvePermaslug(model: NullableText, catalog: Catalog): NullableText {
  return model === null ? null : permaslugOf(catalog, model)
}

function variantOf(model: NullableText): NullableText {
  return model === null ? null : (model.split(':')[1] ?? 'standard')
}

export function resolveProviderName(slug: NullableText, catalog: Catalog): NullableText {
  return slug === null ? null : (catalog.providerByName.get(slug)?.name ?? slug)
}

/** An app is stored as its URL and title, one per line. */
export function urlOf(app: NullableText): NullableText {
  return app?.split('\n')[0] ?? null
}

function originOf(app: NullableText): NullableText {
  const url = urlOf(app)
  return url === null ? null : (URL.parse(url)?.origin ?? null)
}
