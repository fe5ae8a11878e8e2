import type { Catalog } from '../../catalog/catalog.ts'
import type { Dimension } from '../../ledger/rollups/tally.ts'

type Text = string | null

export interface DimensionKind {
  name: string
  label: string
  /** May be asked for at most 31 days; others for 365. */
  isShort: boolean
  column: Dimension['column']
  /** What a stored value stands for. */
  read: (value: Text, catalog: Catalog) => Text
  /** Further names a filter may use for it. */
  aliases?: (value: Text) => Text
}

const asIs = (value: Text) => value

/** Every dimension of the API, and where it comes from. */
export const dimensions: readonly DimensionKind[] = [
  { name: 'model', label: 'Model', isShort: false, column: 'model', read: permaslug, aliases: asIs },
  { name: 'variant', label: 'Variant', isShort: false, column: 'model', read: variantOf },
  { name: 'api_key_id', label: 'API key', isShort: false, column: 'key', read: asIs },
  { name: 'user', label: 'User', isShort: false, column: 'user', read: asIs },
  { name: 'workspace', label: 'Workspace', isShort: false, column: 'workspace', read: asIs },
  { name: 'app', label: 'App', isShort: false, column: 'app', read: urlOf },
  { name: 'generation_id', label: 'Generation', isShort: true, column: 'id', read: asIs },
  {
    name: 'provider',
    label: 'Provider',
    isShort: true,
    column: 'provider',
    read: providerName,
    aliases: asIs,
  },
  { name: 'origin', label: 'Origin', isShort: true, column: 'app', read: originOf },
  { name: 'country', label: 'Country', isShort: true, column: 'none', read: () => null },
  { name: 'finish_reason', label: 'Finish reason', isShort: true, column: 'finish', read: asIs },
  { name: 'external_user', label: 'External user', isShort: true, column: 'external', read: asIs },
  { name: 'context_length_bucket', label: 'Context length', isShort: true, column: 'context', read: asIs },
]

export const dimensionsByName: ReadonlyMap<string, DimensionKind> = new Map(
  dimensions.map((dimension) => [dimension.name, dimension]),
)

/** The name that never changes; what the catalogue no longer knows keeps the one it was asked by. */
export function permaslug(model: Text, catalog: Catalog): Text {
  return model === null ? null : (catalog.bySlug.get(model)?.canonical_slug ?? model)
}

function variantOf(model: Text): Text {
  return model === null ? null : (model.split(':')[1] ?? 'standard')
}

export function providerName(slug: Text, catalog: Catalog): Text {
  return slug === null ? null : (catalog.providerByName.get(slug)?.name ?? slug)
}

/** An app is stored with its address and title, a line each. */
export function urlOf(app: Text): Text {
  return app?.split('\n')[0] ?? null
}

function originOf(app: Text): Text {
  const url = urlOf(app)
  return url === null ? null : (URL.parse(url)?.origin ?? null)
}
