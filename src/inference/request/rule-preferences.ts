import type { Catalog } from '../../catalog/catalog.ts'
import type { ProviderPreferences } from '../../formats/schema/preferences.ts'

type ProviderNames = Catalog['providerByName']

/**
 * The preferences of a request with those of a rule, which take precedence. Where a request excludes endpoints, they
 * stay excluded: a rule can only restrict further.
 */
export function combinePreferences(
  sent: ProviderPreferences,
  rule: ProviderPreferences,
  providers: ProviderNames,
): ProviderPreferences {
  const combined: ProviderPreferences = { ...sent, ...omitNull(rule) }
  if (sent.only && rule.only) combined.only = intersectNames(sent.only, rule.only, providers)
  if (sent.ignore && rule.ignore) combined.ignore = [...new Set([...sent.ignore, ...rule.ignore])]
  if (sent.quantizations && rule.quantizations)
    combined.quantizations = rule.quantizations.filter((name) => sent.quantizations?.includes(name))
  if (sent.data_collection === 'deny') combined.data_collection = 'deny'
  for (const name of ['zdr', 'enforce_distillable_text', 'require_parameters'] as const)
    if (sent[name]) combined[name] = true
  for (const name of ['allow_fallbacks', 'prompt_caching'] as const)
    if (sent[name] === false) combined[name] = false
  if (sent.max_price && rule.max_price) combined.max_price = combinePrices(sent.max_price, rule.max_price)
  return combined
}

/** A preference that is null says nothing. */
function omitNull(preferences: ProviderPreferences): ProviderPreferences {
  return Object.fromEntries(Object.entries(preferences).filter(([, value]) => value !== null))
}

type MaxPrice = NonNullable<ProviderPreferences['max_price']>

function combinePrices(sent: MaxPrice, rule: MaxPrice): MaxPrice {
  const combined: MaxPrice = { ...sent, ...rule }
  for (const name of Object.keys(sent) as (keyof MaxPrice)[]) {
    const [own, other] = [sent[name], rule[name]]
    if (own !== undefined && (other === undefined || Number(own) < Number(other))) combined[name] = own
  }
  return combined
}

/** The names of endpoints in both lists. One may name a provider, and the other its endpoint. */
function intersectNames(
  sent: readonly string[],
  rule: readonly string[],
  providers: ProviderNames,
): string[] {
  const isWithin = (name: string, list: readonly string[]) =>
    list.some((other) => includesName(other, name, providers))
  return [
    ...new Set([
      ...sent.filter((name) => isWithin(name, rule)),
      ...rule.filter((name) => isWithin(name, sent)),
    ]),
  ]
}

/** Whether all endpoints of a name are among those of another. The tag of an endpoint begins with its provider. */
function includesName(outer: string, inner: string, providers: ProviderNames): boolean {
  if (outer === inner) return true
  const slug = findSlug(outer, providers)
  return slug !== undefined && (findSlug(inner, providers) === slug || inner.startsWith(`${slug}/`))
}

function findSlug(name: string, providers: ProviderNames): string | undefined {
  return (providers.get(name) ?? providers.get(name.toLowerCase()))?.slug
}
