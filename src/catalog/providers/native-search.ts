import type { JsonObject } from '../../platform/json/json-values.ts'
import type { NativeSearch } from '../provider.ts'

/** Search tools of the vendors, in their own formats. */
export const messagesSearch: NativeSearch = {
  wireFormat: 'messages',
  types: /^web_search_\d{8}$/,
  domainLists: 'exclusive',
  createTool: ({ maxUses, includeDomains, excludeDomains, userLocation }) => ({
    type: 'web_search_20250305',
    name: 'web_search',
    ...(maxUses !== undefined && { max_uses: maxUses }),
    ...(includeDomains.length > 0 && { allowed_domains: [...includeDomains] }),
    ...(excludeDomains.length > 0 && { blocked_domains: [...excludeDomains] }),
    ...(userLocation && { user_location: encodeLocation(userLocation) }),
  }),
}

export const responsesSearch: NativeSearch = {
  wireFormat: 'responses',
  types: /^web_search(?:_preview)?(?:_\d{4}_\d{2}_\d{2})?$/,
  domainLists: 'include',
  maxDomains: 100,
  createTool: ({ includeDomains, contextSize, userLocation }) => ({
    type: 'web_search',
    ...(includeDomains.length > 0 && { filters: { allowed_domains: [...includeDomains] } }),
    ...(contextSize !== undefined && { search_context_size: contextSize }),
    ...(userLocation && { user_location: encodeLocation(userLocation) }),
  }),
}

/** A search with one list of at most five domains, either included or excluded. */
export const shortListSearch: NativeSearch = {
  wireFormat: 'responses',
  types: responsesSearch.types,
  domainLists: 'exclusive',
  maxDomains: 5,
  createTool: ({ includeDomains, excludeDomains }) => ({
    type: 'web_search',
    ...(includeDomains.length > 0 && { filters: { allowed_domains: [...includeDomains] } }),
    ...(excludeDomains.length > 0 && { filters: { excluded_domains: [...excludeDomains] } }),
  }),
}

export const geminiSearch: NativeSearch = {
  wireFormat: 'gemini',
  types: /^google_search$|^googleSearch$/,
  domainLists: 'none',
  createTool: () => ({ googleSearch: {} }),
}

function encodeLocation({ city, country, region, timezone }: JsonObject): JsonObject {
  const known = Object.entries({ city, country, region, timezone }).filter(([, value]) => value != null)
  return { type: 'approximate', ...Object.fromEntries(known) }
}
