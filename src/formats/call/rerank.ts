import type { JsonObject } from '../../platform/json/json-values.ts'
import type { BilledUnits } from './units.ts'
import type { Usage } from './usage.ts'

/** A request to rank documents by their relevance to a query, in the gateway's internal form. */
export interface RerankCall {
  query: string
  /** The documents, at least one. */
  documents: RerankDocument[]
  /** The number of results; by default all. */
  topN?: number
  /** Fields outside this form; they reach only upstreams of the client's format. */
  extra: JsonObject
}

/** Has a text, an image or both. */
export interface RerankDocument {
  text?: string
  /** A URL, or a data URL. */
  image?: string
}

export interface RerankReply {
  /** The most relevant first. */
  results: RankedDocument[]
  usage: Usage | null
  /** The searches, for prices by search. */
  units: readonly BilledUnits[]
}

export interface RankedDocument {
  /** Position in the request. */
  index: number
  score: number
}

/** Documents that providers with a price per search count as one search. */
const documentsPerSearch = 100

/** The searches for so many documents. */
export function countSearches(documents: number): BilledUnits {
  return toSearches(Math.ceil(documents / documentsPerSearch))
}

export function toSearches(quantity: number): BilledUnits {
  return { billable: 'search', unit: 'search', quantity, variants: [] }
}
