import type { Model } from '../../catalog/model.ts'
import type { NativeSearch } from '../../catalog/provider.ts'
import type { NativeTool } from '../../formats/call/call.ts'
import { gatewayError, invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { AccessContext } from './access.ts'
import { type ChosenEngine, chooseEngine, type EngineRequester } from './choose-engine.ts'
import { formatDomainRule } from './domains.ts'
import { findSearchEngine, searchEngines } from './engines/all.ts'
import {
  type OptionNames,
  type PreparedSearch,
  parseDomainRules,
  prepareSearch,
  type SearchOptions,
} from './prepare.ts'

/** A search in the client's form. */
export interface SearchRequest extends SearchOptions {
  engine?: string | undefined
  maxUses?: number | undefined
}

export type SearchNames = OptionNames & { engine: string }

export interface Searcher extends Omit<EngineRequester, 'model'> {
  /** Models that may reply, best first; undefined for a name that is not in the catalog. */
  models: readonly (Model | undefined)[]
  /** Whether the host is regional: it sends no search outside its region. */
  isRegional: boolean
}

/** The provider of the model searches with its own tool, or the gateway with an engine. */
export type ResolvedSearch =
  | { kind: 'native'; tool: NativeTool; ignored: string[] }
  | { kind: 'engine'; chosen: ChosenEngine; prepared: PreparedSearch }

/** Chooses who searches: without a named engine, the provider if it can. Errors are 400 or 403 and name the field. */
export function resolveSearch(
  context: AccessContext,
  request: SearchRequest,
  { models, byokKeys, isRegional }: Searcher,
  names: SearchNames,
): ResolvedSearch {
  const { engine } = request
  const native = findNativeSearch(models)
  const ofNative = () => ({
    tool: createNativeTool(native, request, names),
    ignored: listIgnored(request, names),
  })
  if (engine !== undefined) requireMode(engine, request.mode, names.mode)
  if (engine === 'native') return { kind: 'native', ...ofNative() }
  const isAuto = engine === undefined || engine === 'auto'
  if (isAuto && native && findNativeProblem(native, request, names) === null)
    return { kind: 'native', ...ofNative() }
  if (isRegional)
    throw gatewayError(
      'region_refused',
      `${names.engine}: search engines are not available on regional hosts; only the provider's own search is.`,
    )
  const requester = { byokKeys, model: models[0]?.canonical_slug ?? null }
  const chosen = chooseEngine(context, isAuto ? undefined : engine, requester, names.engine)
  return { kind: 'engine', chosen, prepared: prepareSearch(chosen.engine, request, names) }
}

/** An engine that the client names must have the mode; one that it does not name need not. Errors are 400. */
export function requireMode(engine: string, mode: string | undefined, field: string): void {
  if (mode === undefined || engine === 'auto') return
  const having = searchEngines
    .filter(({ modes }) => modes.some((known) => known === mode))
    .map(({ id }) => id)
  if (having.length === 0 || having.includes(engine) || (engine !== 'native' && !findSearchEngine(engine)))
    return
  const owner = engine === 'native' ? 'the search of the provider' : `the engine ${engine}`
  throw invalidFieldError(
    field,
    `${owner} has no mode "${mode}"; ${having.join(', ')} ${having.length === 1 ? 'has' : 'have'} it`,
  )
}

/** Lists the options that the search of a provider does not have. */
function listIgnored({ mode, maxResults, maxCharacters }: SearchRequest, names: SearchNames): string[] {
  return [
    ...(mode === undefined ? [] : [names.mode]),
    ...(maxResults === undefined ? [] : [names.maxResults]),
    ...(maxCharacters === undefined ? [] : [names.maxCharacters]),
  ]
}

/** The search that every provider of the models has; null if one of them has none. */
export function findNativeSearch(models: readonly (Model | undefined)[]): NativeSearch | null {
  const [first, ...others] = models.flatMap(listSearches)
  return first && others.every((other) => other?.wireFormat === first.wireFormat) ? first : null
}

/** Lists the native search of each provider that may serve the model. */
function listSearches(model: Model | undefined): (NativeSearch | null)[] {
  if (!model) return [null]
  const endpoints = model.callable.length > 0 ? model.callable : model.endpoints
  return endpoints.map(({ provider: { webSearch }, wireFormats }) =>
    webSearch && wireFormats.includes(webSearch.wireFormat) ? webSearch : null,
  )
}

function createNativeTool(
  native: NativeSearch | null,
  request: SearchRequest,
  names: SearchNames,
): NativeTool {
  if (!native)
    throw invalidFieldError(
      names.engine,
      'not every provider of this model has a search of its own; use another engine',
    )
  const problem = findNativeProblem(native, request, names)
  if (problem) throw invalidFieldError(problem.field, problem.message)
  const format = (texts: SearchRequest['includeDomains'], name: string) =>
    parseDomainRules(texts, name).map(formatDomainRule)
  const value = native.createTool({
    maxUses: request.maxUses,
    includeDomains: format(request.includeDomains, names.includeDomains),
    excludeDomains: format(request.excludeDomains, names.excludeDomains),
    contextSize: request.contextSize,
    userLocation: request.userLocation && { ...request.userLocation },
  })
  const type = typeof value.type === 'string' ? value.type : (Object.keys(value)[0] ?? '')
  return { kind: 'native', wireFormat: native.wireFormat, type, value }
}

/** Finds the reason why the lists of domains do not fit the provider's search; null if they do. */
function findNativeProblem(
  { domainLists, maxDomains = 100 }: NativeSearch,
  { includeDomains, excludeDomains }: SearchRequest,
  names: SearchNames,
): { field: string; message: string } | null {
  const included = includeDomains?.length ?? 0
  const excluded = excludeDomains?.length ?? 0
  const unsupported = 'is not supported by the search of the provider'
  if (domainLists === 'none' && included > 0) return { field: names.includeDomains, message: unsupported }
  if (domainLists !== 'exclusive' && excluded > 0)
    return { field: names.excludeDomains, message: unsupported }
  if (included > 0 && excluded > 0)
    return { field: names.excludeDomains, message: `cannot be combined with ${names.includeDomains}` }
  if (included + excluded <= maxDomains) return null
  const field = included > 0 ? names.includeDomains : names.excludeDomains
  return { field, message: `the search of the provider accepts at most ${maxDomains} domains` }
}
