import { findModel } from '../../catalog/lookup.ts'
import type { PluginSettings } from '../../formats/schema/plugins.ts'
import type { SearchResult } from '../../formats/schema/search-engine.ts'
import { GatewayError, gatewayError } from '../../platform/errors/gateway-error.ts'
import { usdFromNanos } from '../../platform/money/money.ts'
import { requireEngine } from '../web/choose-engine.ts'
import { formatResults, toCitation } from '../web/format-results.ts'
import { parseDomainRules, prepareSearch, type SearchOptions } from '../web/prepare.ts'
import { type ResolvedSearch, requireMode, resolveSearch } from '../web/resolve-search.ts'
import { maxResultCharacters, priceWorstCase, searchWeb } from '../web/search.ts'
import { CiteSources } from './cite-sources.ts'
import { addToPrompt, readLastUserText } from './last-user-message.ts'
import type { AugmentContext, Plugin, PluginContext } from './plugin.ts'

type Settings = PluginSettings<'web'>

/** Searches for the last message of the user, and adds the results to the prompt. */
export const web: Plugin<'web'> = {
  id: 'web',
  validate,
  prepare: (context, settings) => {
    const { request, work } = context
    if (settings.x_search) work.dropSettings('web', ['plugins.web.x_search'])
    if (settings.max_uses === 0) {
      validate(settings)
      return
    }
    const search = resolve(context, settings)
    if (search.kind === 'native') {
      work.dropSettings('web', search.ignored)
      const { call } = request.content
      const tools = [...(call.tools ?? []), search.tool]
      request.content = request.content.replaceCall({ ...call, tools })
      return
    }
    work.dropSettings('web', search.prepared.ignored)
  },
  augment: async (context, settings) => {
    const query = findQuery(context, settings)
    if (query === null) return
    const search = resolve(context, settings)
    if (search.kind !== 'native') await addResults(context, search, query, settings)
  },
  estimateFee: (context, settings) => {
    if (findQuery(context, settings) === null) return 0n
    const search = resolve(context, settings)
    if (search.kind === 'native') return 0n
    return priceWorstCase(context.gateway.settings.web, search.prepared, search.chosen.accesses)
  },
  estimateCharacters: (context, settings) => {
    if (findQuery(context, settings) === null) return 0
    const search = resolve(context, settings)
    return search.kind === 'native' ? 0 : maxResultCharacters(search.prepared)
  },
}

/** Rejects settings that no search could use, whatever the model and the engines of the server. */
function validate(settings: Settings): void {
  const { engine, mode } = settings
  parseDomainRules(settings.include_domains, names.includeDomains)
  parseDomainRules(settings.exclude_domains, names.excludeDomains)
  if (engine === undefined || engine === 'auto') return
  requireMode(engine, mode, names.mode)
  if (engine !== 'native') prepareSearch(requireEngine(engine, names.engine), toOptions(settings), names)
}

function toOptions(settings: Settings): SearchOptions {
  return {
    maxResults: settings.max_results,
    includeDomains: settings.include_domains,
    excludeDomains: settings.exclude_domains,
    mode: settings.mode,
    contextSize: 'low',
    userLocation: settings.user_location,
  }
}

/** Finds the text to search for; null if there is none. */
function findQuery({ request }: PluginContext, { max_uses }: Settings): string | null {
  return max_uses === 0 ? null : readLastUserText(request.content.call.messages) || null
}

function resolve({ gateway, request }: PluginContext, settings: Settings): ResolvedSearch {
  if (request.keyContext.disabledServerTools.includes('service:web_search'))
    throw gatewayError('forbidden', 'plugins.web: "service:web_search" is disabled for this workspace.')
  return resolveSearch(
    gateway,
    { ...toOptions(settings), engine: settings.engine, maxUses: settings.max_uses },
    {
      models: request.options.models.map((slug) => findModel(gateway.catalog, slug)?.model),
      byokKeys: request.keyContext.byokKeys,
      isRegional: request.region !== 'global',
    },
    names,
  )
}

const names = {
  engine: 'plugins.web.engine',
  maxResults: 'plugins.web.max_results',
  includeDomains: 'plugins.web.include_domains',
  excludeDomains: 'plugins.web.exclude_domains',
  mode: 'plugins.web.mode',
  maxCharacters: 'plugins.web.max_characters',
  userLocation: 'plugins.web.user_location',
}

async function addResults(
  context: AugmentContext,
  { chosen, prepared }: Extract<ResolvedSearch, { kind: 'engine' }>,
  query: string,
  settings: Settings,
): Promise<void> {
  const { gateway, request, work, signal } = context
  const startedAt = performance.now()
  const worstCase = priceWorstCase(gateway.settings.web, prepared, chosen.accesses)
  if (worstCase > 0n) await context.reserve(worstCase)
  const found = await searchWeb(gateway, prepared, chosen.accesses, query, signal)
  if (!found.ok)
    throw new GatewayError('upstream_failed', { message: `The web search failed: ${found.error.message}` })
  const { results, nanos } = found
  work.bill.addFee({
    kind: 'plugin',
    name: 'web',
    provider: chosen.engine.id,
    quantity: results.length,
    cost: nanos,
    durationMs: Math.round(performance.now() - startedAt),
    startedMs: startedAt - request.startedAt,
  })
  work.toolCalls.webSearches++
  work.stages.push({
    type: 'plugin',
    name: 'web-search',
    summary: `${results.length} results of ${chosen.engine.name}`,
    data: { engine: chosen.engine.id, results: results.length },
    cost_usd: usdFromNanos(nanos),
  })
  addToPrompt(request, buildText(results, settings, gateway.clock.now()))
  request.replyTransforms = [...request.replyTransforms, () => new CiteSources(results.map(toCitation))]
}

function buildText(results: readonly SearchResult[], { search_prompt }: Settings, now: number): string {
  return `${search_prompt ?? defaultPrompt(new Date(now))}\n\n${formatResults(results)}`
}

function defaultPrompt(now: Date): string {
  return [
    `A web search was made on ${now.toISOString().slice(0, 10)}. Use its results in your reply.`,
    'Cite them as Markdown links that are named after the domain of the source,',
    'for example [example.com](https://example.com/page).',
  ].join(' ')
}
