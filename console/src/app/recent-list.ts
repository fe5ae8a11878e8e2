export interface RecentPlace {
  title: string
  /** The path with its search, as the browser has it. */
  href: string
}

const maxPlaces = 8
const maxTitleLength = 120
/** Longer addresses are those of long filters. */
const maxHrefLength = 1000

/** The places with a new one in front; of one path only the last visit is kept. */
export function addPlace(places: readonly RecentPlace[], place: RecentPlace): RecentPlace[] {
  if (place.title === '' || place.href.length > maxHrefLength) return [...places]
  const title = place.title.slice(0, maxTitleLength)
  const others = places.filter(({ href }) => pathOf(href) !== pathOf(place.href))
  return [{ ...place, title }, ...others].slice(0, maxPlaces)
}

export function pathOf(href: string): string {
  return href.split('?')[0] ?? href
}

/** Reads what is stored; what is not a list of places is ignored. */
export function parsePlaces(stored: string | null): RecentPlace[] {
  try {
    const places: unknown = JSON.parse(stored ?? '[]')
    return Array.isArray(places) ? places.filter(isPlace).slice(0, maxPlaces) : []
  } catch {
    return []
  }
}

function isPlace(value: unknown): value is RecentPlace {
  if (typeof value !== 'object' || value === null) return false
  const { title, href } = value as Partial<RecentPlace>
  return typeof title === 'string' && typeof href === 'string' && /^\/(?!\/)/.test(href)
}
