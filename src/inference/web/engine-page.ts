import type { EnginePage, SearchEngine } from '../../formats/schema/search-engine.ts'
import type { EngineAccess } from './access.ts'
import { type PageError, pageError } from './fetch-page.ts'
import { pricePage } from './price.ts'
import type { WebPage } from './read-page.ts'
import { malformedReply, type SendContext, sendEngineRequest, type WebError } from './send.ts'
import type { WebSettings } from './settings.ts'

export type EnginePageOutcome =
  | { ok: true; page: WebPage; nanos: bigint }
  | { ok: false; error: PageError | WebError }

/** Bytes for the fields of a reply besides the text; some engines return more than requested. */
const spareBytes = 1024 * 1024
/** A character is at most six bytes in JSON. */
const bytesPerCharacter = 6
const maxReplyBytes = 16 * 1024 * 1024

/** The most that reading a page may cost. */
export function pricePageWorstCase(
  settings: WebSettings,
  engine: SearchEngine,
  accesses: readonly EngineAccess[],
): bigint {
  return accesses.every(({ isOwnKey }) => isOwnKey) ? 0n : pricePage(settings, engine)
}

/** Reads a page with the API of an engine; tries each key in turn. Never throws. */
export async function readEnginePage(
  context: SendContext,
  { engine, accesses }: { engine: SearchEngine; accesses: readonly EngineAccess[] },
  query: { url: string; maxCharacters: number },
  signal: AbortSignal,
): Promise<EnginePageOutcome> {
  const { api } = engine
  if (api.kind === 'simulated') return toOutcome(api.readPage(query), query.maxCharacters, 0n)
  const { pages } = api
  let error: PageError | WebError = pageError('unreadable')
  if (!pages) return { ok: false, error }
  const limits = {
    maxBytes: Math.min(maxReplyBytes, query.maxCharacters * bytesPerCharacter + spareBytes),
    signal,
  }
  for (const access of accesses) {
    const reply = await sendEngineRequest(context, access, pages.encode(query, access.key), limits)
    if (reply.ok) {
      const page = pages.decode(reply.body)
      const nanos = access.isOwnKey ? 0n : pricePage(context.settings.web, engine)
      return page ? toOutcome(page, query.maxCharacters, nanos) : { ok: false, error: malformedReply }
    }
    error = reply.error
    if (!reply.error.isRetryable) break
  }
  return { ok: false, error }
}

function toOutcome(page: EnginePage, maxCharacters: number, nanos: bigint): EnginePageOutcome {
  if (!('text' in page))
    return { ok: false, error: pageError(page.status === null ? 'unreadable' : 'http_error', page.status) }
  const text = page.text.slice(0, maxCharacters).toWellFormed()
  const isComplete = text.length === page.text.length
  return { ok: true, nanos, page: { url: page.url, status: 200, title: page.title, text, isComplete } }
}
