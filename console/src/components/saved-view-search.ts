/** The query of an address: names and values, as they are written there. */
export type SearchValues = Record<string, string>

/** The page of a list is no part of a view. */
const positions = new Set(['offset', 'page'])

/** What a view keeps of an address such as `?status=failed&offset=50`. */
export function viewSearchOf(address: string): SearchValues {
  return Object.fromEntries([...new URLSearchParams(address)].filter(([name]) => !positions.has(name)))
}

export function isEmptySearch(search: SearchValues): boolean {
  return Object.keys(search).length === 0
}

export function hasSameSearch(one: SearchValues, other: SearchValues): boolean {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}
