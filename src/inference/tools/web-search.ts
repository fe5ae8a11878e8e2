import type { z } from 'zod'
import { findModel } from '../../catalog/lookup.ts'
import { isServerToolType } from '../../formats/call/call.ts'
import type { SearchResult } from '../../formats/schema/search-engine.ts'
import { webSearch as parameters } from '../../formats/schema/server-tools.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ChosenEngine } from '../web/choose-engine.ts'
import { formatResults, toCitation } from '../web/format-results.ts'
import type { PreparedSearch } from '../web/prepare.ts'
import { type ResolvedSearch, resolveSearch } from '../web/resolve-search.ts'
import { priceWorstCase, searchWeb } from '../web/search.ts'
import { defineServerTool, type ToolOutcome, type ToolRun, type ToolSetup } from './tool.ts'

type Parameters = z.output<typeof parameters>

const name = 'web_search'
const defaultTotalResults = 50

export const webSearch = defineServerTool({
  name,
  formats: ['chat', 'messages', 'responses'],
  parameters,
  create: (settings: Parameters, setup) => {
    const ignored = settings.x_search ? [`${setup.at}.parameters.x_search`] : []
    const search = resolve(settings, setup)
    if (search.kind === 'native')
      return {
        functions: [],
        natives: [search.tool],
        ignored: [...search.ignored, ...ignored],
        describe: () => ({ item: {} }),
      }
    const { chosen, prepared } = search
    const limits = new SearchLimits(settings)
    const itemType = itemTypeOf(setup.entry)
    return {
      functions: [
        {
          kind: 'function',
          name,
          description: 'Searches the web. Returns the best results with their URL, title and text.',
          schema: {
            type: 'object',
            properties: { query: { type: 'string', description: 'What to search for.' } },
            required: ['query'],
          },
        },
      ],
      ignored: [...prepared.ignored, ...ignored],
      describe: ({ arguments: text }) => ({
        item: describeItem(itemType, readQuery(text), []),
        ...(itemType === vendorItemType && { progress: vendorProgress }),
      }),
      costs: { fee: priceWorstCase(setup.gateway.settings.web, prepared, chosen.accesses) },
      timeoutMs: setup.gateway.settings.web.timeout * chosen.accesses.length + 1000,
      run: async (_call, run) => runSearch({ chosen, prepared, limits, itemType }, run),
    }
  },
})

function resolve(
  settings: Parameters,
  { gateway, keyContext, region, model, at }: ToolSetup,
): ResolvedSearch {
  const named = (field: string) => `${at}.parameters.${field}`
  return resolveSearch(
    gateway,
    {
      engine: settings.engine,
      maxUses: settings.max_uses,
      maxResults: settings.max_results,
      includeDomains: settings.allowed_domains,
      excludeDomains: settings.excluded_domains,
      mode: settings.mode,
      contextSize: settings.search_context_size,
      maxCharacters: settings.max_characters,
      userLocation: settings.user_location,
    },
    {
      models: [findModel(gateway.catalog, model)?.model],
      byokKeys: keyContext.byokKeys,
      isRegional: region !== 'global',
    },
    {
      engine: named('engine'),
      maxResults: named('max_results'),
      includeDomains: named('allowed_domains'),
      excludeDomains: named('excluded_domains'),
      mode: named('mode'),
      maxCharacters: named('max_characters'),
      userLocation: named('user_location'),
    },
  )
}

/** Counts the searches and results that one request may use. */
class SearchLimits {
  readonly #maxUses: number
  #uses = 0
  #results: number

  constructor({ max_uses = Number.POSITIVE_INFINITY, max_total_results = defaultTotalResults }: Parameters) {
    this.#maxUses = max_uses
    this.#results = max_total_results
  }

  /** Counts a search; returns the reason if a limit does not allow it, otherwise null. */
  start(): string | null {
    if (this.#uses >= this.#maxUses) return `The limit of ${this.#maxUses} searches is reached.`
    if (this.#results <= 0) return 'The limit of results of this request is reached.'
    this.#uses++
    return null
  }

  /** Counts results, and returns how many of them may be used. */
  take(count: number): number {
    const taken = Math.min(count, this.#results)
    this.#results -= taken
    return taken
  }
}

interface SearchSession {
  itemType: string
  chosen: ChosenEngine
  prepared: PreparedSearch
  limits: SearchLimits
}

async function runSearch(session: SearchSession, run: ToolRun): Promise<ToolOutcome> {
  const { chosen, prepared, limits, itemType } = session
  const { gateway, signal } = run
  const query = asString(run.input.query)?.trim() ?? ''
  if (query === '') return fail(itemType, query, 'invalid_tool_input', 'The argument query must be a text.')
  const limit = limits.start()
  if (limit !== null) return fail(itemType, query, 'max_uses_exceeded', limit)
  const worstCase = priceWorstCase(gateway.settings.web, prepared, chosen.accesses)
  if (worstCase > 0n) await run.reserve(worstCase)
  const found = await searchWeb(gateway, prepared, chosen.accesses, query, signal)
  if (!found.ok) return fail(itemType, query, 'unavailable', found.error.message)
  const results = found.results.slice(0, limits.take(found.results.length))
  return {
    content: [{ kind: 'text', text: formatResults(results) }],
    item: describeItem(itemType, query, results),
    block: buildBlock(results.map(encodeBlockResult)),
    citations: results.map(toCitation),
    fees: [{ name: chosen.engine.id, quantity: results.length, nanos: found.nanos }],
    webSearches: 1,
  }
}

function fail(itemType: string, query: string, code: string, message: string): ToolOutcome {
  return {
    content: [{ kind: 'text', text: message }],
    isError: true,
    item: describeItem(itemType, query, []),
    block: buildBlock({ type: 'web_search_tool_result_error', error_code: code }),
  }
}

function buildBlock(content: JsonObject | JsonObject[]): JsonObject {
  return { type: 'web_search_tool_result', caller: { type: 'direct' }, content }
}

function readQuery(text: string): string {
  return asString(asObject(tryParseJson(text))?.query) ?? ''
}

const vendorItemType = 'web_search_call'
/** Clients expect these events of the vendor's items alone. */
const vendorProgress = {
  start: ['web_search_call.in_progress', 'web_search_call.searching'],
  completed: 'web_search_call.completed',
}

/** A client that uses the type of a vendor gets the vendor's item. */
function itemTypeOf({ type }: JsonObject): string {
  return typeof type === 'string' && isServerToolType(type) ? type : vendorItemType
}

function describeItem(type: string, query: string, results: readonly SearchResult[]): JsonObject {
  const sources = results.map(({ url }) => ({ type: 'url', url }))
  return { type, action: { type: 'search', query, sources } }
}

function encodeBlockResult({ url, title, publishedAt }: SearchResult): JsonObject {
  return { type: 'web_search_result', url, title, encrypted_content: '', page_age: publishedAt }
}
