import {
  type ContextSize,
  type SearchEngine,
  type SearchMode,
  type SearchQuery,
  searchModes,
  type UserLocation,
} from '../../formats/schema/search-engine.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { type DomainRule, domainForms, parseDomainRule } from './domains.ts'

/** Options of a search in the client's form. */
export interface SearchOptions {
  maxResults?: number | undefined
  includeDomains?: readonly string[] | null | undefined
  excludeDomains?: readonly string[] | null | undefined
  mode?: string | undefined
  contextSize?: ContextSize | undefined
  maxCharacters?: number | undefined
  userLocation?: UserLocation | null | undefined
}

/** The names of the options in the request, for errors. */
export type OptionNames = Record<Exclude<keyof SearchOptions, 'contextSize'>, string>

/** A search without its query, ready to be sent to the engine. */
export interface PreparedSearch {
  engine: SearchEngine
  /** Options that the engine receives. */
  query: Omit<SearchQuery, 'query'>
  /** Domain rules that the results must match: not every engine understands every rule. */
  includeDomains: readonly DomainRule[]
  excludeDomains: readonly DomainRule[]
  /** Options that the engine does not have, by the client's name. */
  ignored: string[]
}

const defaultMaxResults = 5
const maxCharactersLimit = 100_000
/** Characters of one result. */
const contextCharacters: Record<ContextSize, number> = { low: 5_000, medium: 15_000, high: 30_000 }

/** Prepares a search. Errors are 400 and name the field. */
export function prepareSearch(
  engine: SearchEngine,
  options: SearchOptions,
  names: OptionNames,
): PreparedSearch {
  const include = parseDomainRules(options.includeDomains, names.includeDomains)
  const exclude = parseDomainRules(options.excludeDomains, names.excludeDomains)
  const mode = readMode(options.mode, names.mode)
  const isIncludeOnly = engine.domainLists === 'include_wins' && include.length > 0
  if (engine.domainLists === 'exclusive' && include.length > 0 && exclude.length > 0)
    throw invalidFieldError(
      names.excludeDomains,
      `cannot be combined with ${names.includeDomains} for the engine ${engine.id}`,
    )
  const excludeDomains = isIncludeOnly ? [] : exclude
  if (include.length + excludeDomains.length > engine.maxDomains)
    throw invalidFieldError(
      include.length > 0 ? names.includeDomains : names.excludeDomains,
      `the engine ${engine.id} accepts at most ${engine.maxDomains} domains`,
    )
  const hasLocation = Boolean(options.userLocation)
  return {
    engine,
    query: {
      maxResults: checkRange(options.maxResults ?? defaultMaxResults, engine.maxResults, names.maxResults),
      mode: hasMode(engine, mode) ? (mode ?? null) : engine.defaultMode,
      maxCharacters: checkRange(
        options.maxCharacters ?? contextCharacters[options.contextSize ?? 'medium'],
        maxCharactersLimit,
        names.maxCharacters,
      ),
      userLocation: engine.hasLocation ? (options.userLocation ?? null) : null,
      ...selectSentDomains(engine, include, excludeDomains),
    },
    includeDomains: include,
    excludeDomains,
    ignored: [
      ...(mode !== undefined && !hasMode(engine, mode) ? [names.mode] : []),
      ...(isIncludeOnly && exclude.length > 0 ? [names.excludeDomains] : []),
      ...(hasLocation && !engine.hasLocation ? [names.userLocation] : []),
    ],
  }
}

export function parseDomainRules(
  texts: readonly string[] | null | undefined,
  name: string,
): readonly DomainRule[] {
  return (texts ?? []).map((text, index) => {
    const rule = parseDomainRule(text)
    if (rule === null) throw invalidFieldError(`${name}.${index}`, domainForms)
    return rule
  })
}

function readMode(mode: string | undefined, name: string): SearchMode | undefined {
  const found = searchModes.find((known) => known === mode)
  if (mode !== undefined && found === undefined)
    throw invalidFieldError(name, `must be one of ${searchModes.join(', ')}`)
  return found
}

function hasMode({ modes }: SearchEngine, mode: SearchMode | undefined): boolean {
  return modes.some((known) => known === mode)
}

function checkRange(value: number, max: number, name: string): number {
  if (Number.isInteger(value) && value >= 1 && value <= max) return value
  throw invalidFieldError(name, `must be an integer from 1 to ${max}`)
}

/** An engine without patterns receives wider rules, never narrower ones. */
function selectSentDomains(
  { hasDomainPatterns }: SearchEngine,
  include: readonly DomainRule[],
  exclude: readonly DomainRule[],
): Pick<SearchQuery, 'includeDomains' | 'excludeDomains'> {
  if (hasDomainPatterns) return { includeDomains: include, excludeDomains: exclude }
  return {
    includeDomains: include.map(({ host }) => ({ host, isWildcard: false, path: '' })),
    excludeDomains: exclude.filter(({ isWildcard, path }) => !isWildcard && path === ''),
  }
}
