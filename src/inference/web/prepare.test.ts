import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { formatDomainRule } from './domains.ts'
import { findSearchEngine } from './engines/all.ts'
import { type OptionNames, prepareSearch, type SearchOptions } from './prepare.ts'
import { priceSearch } from './price.ts'
import { webSettings } from './settings.ts'

const names: OptionNames = {
  maxResults: 'max_results',
  includeDomains: 'allowed_domains',
  excludeDomains: 'excluded_domains',
  mode: 'mode',
  maxCharacters: 'max_characters',
  userLocation: 'user_location',
}

function engineOf(id: string) {
  const engine = findSearchEngine(id)
  if (!engine) throw new Error(`no engine ${id}`)
  return engine
}

const prepare = (id: string, options: SearchOptions = {}) => prepareSearch(engineOf(id), options, names)

function problemOf(id: string, options: SearchOptions): string {
  try {
    prepare(id, options)
    return 'none'
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    expect(error.row.status).toBe(400)
    return error.message
  }
}

describe('preparing a search', () => {
  test('the defaults', () => {
    expect(prepare('exa')).toMatchObject({
      query: { maxResults: 5, mode: 'auto', maxCharacters: 15_000 },
      ignored: [],
    })
    expect(prepare('parallel').query.mode).toBe('basic')
    expect(prepare('perplexity').query.mode).toBeNull()
  })

  test.each([
    ['low', 5_000],
    ['medium', 15_000],
    ['high', 30_000],
  ] as const)('context size %s', (contextSize, characters) => {
    expect(prepare('exa', { contextSize }).query.maxCharacters).toBe(characters)
    expect(prepare('exa', { contextSize, maxCharacters: 700 }).query.maxCharacters).toBe(700)
  })

  test.each([
    ['exa', { maxResults: 26 }, 'max_results: must be an integer from 1 to 25'],
    ['exa', { maxResults: 0 }, 'max_results: must be an integer from 1 to 25'],
    ['perplexity', { maxResults: 21 }, 'max_results: must be an integer from 1 to 20'],
    ['exa', { maxCharacters: 100_001 }, 'max_characters: must be an integer from 1 to 100000'],
    ['exa', { mode: 'slow' }, 'mode: must be one of instant, fast'],
    ['exa', { includeDomains: ['a.test', 'https://b.test'] }, 'allowed_domains.1: must be a domain'],
    ['exa', { excludeDomains: ['a b'] }, 'excluded_domains.0: must be a domain'],
    [
      'parallel',
      { includeDomains: ['a.test'], excludeDomains: ['b.test'] },
      'excluded_domains: cannot be combined',
    ],
    [
      'firecrawl',
      { includeDomains: ['a.test'], excludeDomains: ['b.test'] },
      'excluded_domains: cannot be combined',
    ],
    [
      'perplexity',
      { excludeDomains: Array(21).fill('a.test') },
      'excluded_domains: the engine perplexity accepts at most 20',
    ],
  ])('%s with %o: 400 naming the field', (id, options, message) => {
    expect(problemOf(id, options)).toStartWith(message)
  })

  test('exa accepts both lists, and for perplexity the included domains win', () => {
    const lists = { includeDomains: ['a.test'], excludeDomains: ['b.test'] }
    expect(prepare('exa', lists)).toMatchObject({
      query: { excludeDomains: [{ host: 'b.test' }] },
      ignored: [],
    })
    expect(prepare('perplexity', lists)).toMatchObject({
      query: { includeDomains: [{ host: 'a.test' }], excludeDomains: [] },
      excludeDomains: [],
      ignored: ['excluded_domains'],
    })
  })

  test('an engine without patterns is asked for more, never for less', () => {
    const include = prepare('parallel', { includeDomains: ['*.a.test', 'b.test/blog'] })
    expect(include.query.includeDomains.map(formatDomainRule)).toEqual(['a.test', 'b.test'])
    expect(include.includeDomains.map(formatDomainRule)).toEqual(['*.a.test', 'b.test/blog'])
    const exclude = prepare('parallel', { excludeDomains: ['*.a.test', 'b.test/blog', 'c.test'] })
    expect(exclude.query.excludeDomains.map(formatDomainRule)).toEqual(['c.test'])
    expect(exclude.excludeDomains).toHaveLength(3)
  })

  test('a mode of another engine and a location that is not used are named', () => {
    expect(prepare('parallel', { mode: 'deep' })).toMatchObject({
      query: { mode: 'basic' },
      ignored: ['mode'],
    })
    expect(prepare('searxng', { userLocation: { country: 'DE' } })).toMatchObject({
      query: { userLocation: null },
      ignored: ['user_location'],
    })
    expect(prepare('exa', { mode: 'deep', userLocation: { country: 'DE' } }).ignored).toEqual([])
  })
})

describe('prices', () => {
  const settings = webSettings.parse({})
  test.each([
    ['exa', 'instant', 5, 7_000_000n],
    ['exa', 'fast', 10, 7_000_000n],
    ['exa', 'auto', 12, 9_000_000n],
    ['exa', 'deep-lite', 1, 12_000_000n],
    ['exa', 'deep', 1, 12_000_000n],
    ['exa', 'deep-reasoning', 25, 30_000_000n],
    ['parallel', 'turbo', 10, 1_000_000n],
    ['parallel', 'fast', 11, 2_000_000n],
    ['parallel', 'basic', 5, 5_000_000n],
    ['parallel', 'advanced', 5, 5_000_000n],
    ['perplexity', null, 20, 5_000_000n],
    ['firecrawl', null, 25, 0n],
    ['searxng', null, 25, 0n],
  ] as const)('%s in mode %s with %d results', (id, mode, results, nanos) => {
    expect(priceSearch(settings, engineOf(id), mode, results)).toBe(nanos)
  })

  test('the operator can set others', () => {
    const own = webSettings.parse({
      engines: {
        exa: { prices: { search: 0.002, modes: { deep: 0.03 }, additional_result: 0.0005 } },
        firecrawl: { prices: { search: 0.004 } },
      },
    })
    expect(priceSearch(own, engineOf('exa'), 'auto', 12)).toBe(3_000_000n)
    expect(priceSearch(own, engineOf('exa'), 'deep', 1)).toBe(30_000_000n)
    expect(priceSearch(own, engineOf('exa'), 'deep-reasoning', 1)).toBe(2_000_000n)
    expect(priceSearch(own, engineOf('firecrawl'), null, 1)).toBe(4_000_000n)
  })
})
