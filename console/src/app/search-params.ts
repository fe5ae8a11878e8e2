/** The start of a page of a list, from the address; 0 is left out. */
export function readOffset({ offset }: Record<string, unknown>): { offset?: number } {
  return Number.isInteger(offset) && Number(offset) > 0 ? { offset: Number(offset) } : {}
}

/** The reverse: what the address has for a page of a list. */
export function writeOffset(offset: number): { offset?: number } {
  return offset > 0 ? { offset } : {}
}

/** A text from the address, which may look like a number; an empty one is left out. */
export function readText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** The page of a list, and the text that it must contain. */
export interface ListSearch {
  offset?: number
  q?: string
}

export function readListSearch(search: Record<string, unknown>): ListSearch {
  return { ...readOffset(search), ...writeText(readText(search.q) ?? '') }
}

/** The search parameters of a searched text; an empty one is omitted. */
export function writeText(q: string): { q?: string } {
  return q === '' ? {} : { q }
}
