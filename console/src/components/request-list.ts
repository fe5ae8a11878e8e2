/** The list that a request was opened from, for the way to its neighbors and back. */
export interface RequestList {
  ids: readonly string[]
  /** The path and search of the list, as the browser has them. */
  href: string
}

export interface ListPlace {
  /** From 1. */
  position: number
  count: number
  /** The rows above and below; null at an end of the list. */
  previous: string | null
  next: string | null
}

/** Ids that are kept: those around the request that is opened. */
const maxIds = 1000
const storageKey = 'headgate-request-list'

/** The part of a long list around one of its requests. */
export function cutList(ids: readonly string[], id: string): readonly string[] {
  const start = Math.max(0, Math.min(ids.indexOf(id) - maxIds / 2, ids.length - maxIds))
  return ids.slice(start, start + maxIds)
}

/** Null for a request that is not in the list. */
export function findPlace({ ids }: RequestList, id: string): ListPlace | null {
  const index = ids.indexOf(id)
  if (index === -1) return null
  return {
    ...{ position: index + 1, count: ids.length },
    ...{ previous: ids[index - 1] ?? null, next: ids[index + 1] ?? null },
  }
}

export function parseList(stored: string | null): RequestList | null {
  try {
    const value = JSON.parse(stored ?? 'null') as Partial<RequestList> | null
    const { ids, href } = value ?? {}
    const isList = Array.isArray(ids) && ids.every((id) => typeof id === 'string')
    return isList && typeof href === 'string' && /^\/(?!\/)/.test(href) ? { ids, href } : null
  } catch {
    return null
  }
}

/** Remembers the list in this tab, when one of its requests is opened. */
export function rememberRequestList(ids: readonly string[], id: string): void {
  const list: RequestList = { ids: cutList(ids, id), href: location.pathname + location.search }
  sessionStorage.setItem(storageKey, JSON.stringify(list))
}

export function readRequestList(): RequestList | null {
  return parseList(sessionStorage.getItem(storageKey))
}
