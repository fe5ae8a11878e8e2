import type { Schemas } from '../../api/client.ts'
import { readText } from '../../app/search-params.ts'

export type EntryType = Schemas['CreditEntry']['type']

export const entryTypes: { value: EntryType; label: string }[] = [
  { value: 'charge', label: 'Charge' },
  { value: 'grant', label: 'Grant' },
  { value: 'purchase', label: 'Purchase' },
  { value: 'adjustment', label: 'Adjustment' },
]

/** Which entries are shown: the query of the API, kept in the address. */
export interface EntryFilters {
  type?: EntryType
  from?: string
  to?: string
}

/** What the address says; anything that the API would refuse is left out. */
export function readEntryFilters(search: Record<string, unknown>): EntryFilters {
  const type = entryTypes.find(({ value }) => value === search.type)?.value
  const [from, to] = [search.from, search.to].map(readTime)
  return { ...(type && { type }), ...(from && { from }), ...(to && { to }) }
}

function readTime(value: unknown): string | undefined {
  const time = Date.parse(readText(value) ?? '')
  return Number.isNaN(time) ? undefined : new Date(time).toISOString()
}
