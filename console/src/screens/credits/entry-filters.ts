import type { Schemas } from '../../api/client.ts'
import { readText } from '../../app/search-params.ts'

export type EntryType = Schemas['CreditEntry']['type']

export const entryTypes: { value: EntryType; label: string }[] = [
  { value: 'charge', label: 'Charge' },
  { value: 'grant', label: 'Grant' },
  { value: 'purchase', label: 'Purchase' },
  { value: 'adjustment', label: 'Adjustment' },
]

/** Filters of the entries: the query of the API, stored in the address. */
export interface EntryFilters {
  type?: EntryType
  from?: string
  to?: string
}

/** Reads the address; values that the API would reject are omitted. */
export function readEntryFilters(search: Record<string, unknown>): EntryFilters {
  const type = entryTypes.find(({ value }) => value === search.type)?.value
  const [from, to] = [search.from, search.to].map(readTime)
  return { ...(type && { type }), ...(from && { from }), ...(to && { to }) }
}

function readTime(value: unknown): string | undefined {
  const time = Date.parse(readText(value) ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
