import type { HttpApi, SearchEngine, SearchQuery, SearchResult } from '../../formats/schema/search-engine.ts'
import type { EngineAccess } from './access.ts'
import { findDomainBlock } from './domains.ts'
import type { PreparedSearch } from './prepare.ts'
import { priceSearch } from './price.ts'
import { malformedReply, type SendContext, sendEngineRequest, type WebError } from './send.ts'
import type { WebSettings } from './settings.ts'

export type SearchOutcome =
  | { ok: true; results: SearchResult[]; nanos: bigint }
  | { ok: false; error: WebError }

const maxQueryLength = 2_000
const maxUrlLength = 2_000
const maxTitleLength = 500
/** A character is at most six bytes in JSON. */
const bytesPerCharacter = 6
/** Bytes for the fields of a result besides its text; some engines return more than requested. */
const bytesPerResult = 64 * 1024
const maxReplyBytes = 16 * 1024 * 1024

/** The most that the search may cost. */
export function priceWorstCase(
  settings: WebSettings,
  { engine, query }: PreparedSearch,
  accesses: readonly EngineAccess[],
): bigint {
  if (accesses.every(({ isOwnKey }) => isOwnKey)) return 0n
  return priceSearch(settings, engine, query.mode, query.maxResults)
}

/** Computes the characters of all results together, with titles and addresses. */
export function maxResultCharacters({ query }: PreparedSearch): number {
  return query.maxResults * (query.maxCharacters + maxTitleLength + maxUrlLength)
}

/** Tries each key in turn. Never throws. */
export async function searchWeb(
  context: SendContext,
  prepared: PreparedSearch,
  accesses: readonly EngineAccess[],
  text: string,
  signal: AbortSignal,
): Promise<SearchOutcome> {
  const { engine } = prepared
  const { api } = engine
  const query = { ...prepared.query, query: shortenQuery(text) }
  if (api.kind === 'simulated')
    return { ok: true, results: selectResults(api.search(query), prepared), nanos: 0n }
  let error: WebError = noKey(engine)
  for (const access of accesses) {
    const found = await searchOnce(context, { prepared, api, query, signal }, access)
    if (found.ok) return found
    error = found.error
    if (!error.isRetryable) break
  }
  return { ok: false, error }
}

/** Characters that are read of a text to search for, before its spaces are removed. */
const maxReadLength = 10 * maxQueryLength

function shortenQuery(text: string): string {
  return cut(text.trimStart().slice(0, maxReadLength).replace(/\s+/g, ' ').trim(), maxQueryLength)
}

function noKey({ id }: SearchEngine): WebError {
  return { code: 'unauthorized', message: `There is no key for the engine ${id}.`, isRetryable: false }
}

interface RunningSearch {
  prepared: PreparedSearch
  api: HttpApi
  query: SearchQuery
  signal: AbortSignal
}

async function searchOnce(
  context: SendContext,
  { prepared, api, query, signal }: RunningSearch,
  access: EngineAccess,
): Promise<SearchOutcome> {
  const { maxResults, maxCharacters } = query
  const maxBytes = maxResults * (maxCharacters * bytesPerCharacter + bytesPerResult)
  const limits = { maxBytes: Math.min(maxBytes, maxReplyBytes), signal }
  const reply = await sendEngineRequest(context, access, api.encodeSearch(query, access.key), limits)
  if (!reply.ok) return reply
  const results = api.decodeSearch(reply.body)
  if (results === null) return { ok: false, error: malformedReply }
  const nanos = access.isOwnKey
    ? 0n
    : priceSearch(context.settings.web, prepared.engine, query.mode, Math.min(results.length, maxResults))
  return { ok: true, results: selectResults(results, prepared), nanos }
}

/** Results of the web that obey the domain rules, each once, within the limits. */
function selectResults(
  results: readonly SearchResult[],
  { query, includeDomains, excludeDomains }: PreparedSearch,
): SearchResult[] {
  const seen = new Set<string>()
  const selected = results.filter(({ url: text }) => {
    const url = URL.parse(text)
    const isWeb = url !== null && /^https?:$/.test(url.protocol) && text.length <= maxUrlLength
    if (!isWeb || seen.has(url.href) || findDomainBlock(url, includeDomains, excludeDomains) !== null)
      return false
    seen.add(url.href)
    return true
  })
  return selected.slice(0, query.maxResults).map((result) => ({
    ...result,
    title: cut(result.title, maxTitleLength),
    text: cut(result.text, query.maxCharacters),
  }))
}

/** Shortens a text without leaving half of a character at its end. */
function cut(text: string, length: number): string {
  return text.length <= length
    ? text
    : text
        .slice(0, length)
        .toWellFormed()
        .replace(/\ufffd$/, '')
}
