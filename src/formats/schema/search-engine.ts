import type { DomainRule } from '../../inference/web/domains.ts'

/** Every mode of any engine. */
export const searchModes = [
  'instant',
  'fast',
  'auto',
  'deep-lite',
  'deep',
  'deep-reasoning',
  'turbo',
  'basic',
  'advanced',
] as const
export type SearchMode = (typeof searchModes)[number]

export const contextSizes = ['low', 'medium', 'high'] as const
export type ContextSize = (typeof contextSizes)[number]

export interface UserLocation {
  city?: string | null | undefined
  /** Two letters. */
  country?: string | null | undefined
  region?: string | null | undefined
  timezone?: string | null | undefined
}

/** A search in the form that every engine receives. */
export interface SearchQuery {
  query: string
  maxResults: number
  includeDomains: readonly DomainRule[]
  excludeDomains: readonly DomainRule[]
  /** A mode of the engine. */
  mode: SearchMode | null
  /** Characters of the text of one result. */
  maxCharacters: number
  userLocation: UserLocation | null
}

export interface SearchResult {
  url: string
  title: string
  text: string
  /** The date in the engine's form, usually ISO. */
  publishedAt: string | null
}

/** A request of an engine's API. Header names in lower case. */
export interface EngineRequest {
  method: 'GET' | 'POST'
  /** The path below the engine's base URL. */
  path: string
  headers: Record<string, string>
  body: Record<string, unknown> | null
}

/** A page to read with an engine's API. */
export interface PageQuery {
  url: string
  maxCharacters: number
}

export type EnginePage =
  | { url: string; title: string | null; text: string }
  /** The engine could not read it; the status is that of the page, if there was one. */
  | { status: number | null }

/** Prices in nano-dollars. */
export interface SearchPrices {
  /** Price of one search. */
  search: bigint
  /** Prices of one search in the modes that cost something else. */
  modes: Partial<Record<SearchMode, bigint>>
  /** Price of each result beyond those that a search includes. */
  additionalResult: bigint
}

/** Prices of engines without a price per search. */
export const free: SearchPrices = { search: 0n, modes: {}, additionalResult: 0n }

/** A web search API as data. */
export interface SearchEngine {
  /** The id in requests and settings; for an engine with keys, also the provider of its BYOK keys. */
  id: string
  name: string
  prices: SearchPrices
  /** Nano-dollars of reading one page; null if it reads none. */
  pagePrice: bigint | null
  modes: readonly SearchMode[]
  defaultMode: SearchMode | null
  maxResults: number
  /** The effect of both lists in one search: both apply, it is an error, or the included domains win. */
  domainLists: 'both' | 'exclusive' | 'include_wins'
  /** Whether it understands wildcards and paths; if not, the gateway filters its results. */
  hasDomainPatterns: boolean
  /** Number of domains in both lists together. */
  maxDomains: number
  hasLocation: boolean
  api: HttpApi | SimulatedApi
}

export interface HttpApi {
  kind: 'http'
  /** Null: the operator's own server, which has no other address. */
  baseUrl: string | null
  needsKey: boolean
  encodeSearch(query: SearchQuery, key: string): EngineRequest
  /** Null if the reply is not in the documented form. */
  decodeSearch(reply: unknown): SearchResult[] | null
  pages?: {
    encode(query: PageQuery, key: string): EngineRequest
    /** Null if the reply is not in the documented form. */
    decode(reply: unknown): EnginePage | null
  }
}

/** Replies in the process itself, for tests and documentation. */
export interface SimulatedApi {
  kind: 'simulated'
  search(query: SearchQuery): SearchResult[]
  readPage(query: PageQuery): EnginePage
}
