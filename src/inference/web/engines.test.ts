import { describe, expect, test } from 'bun:test'
import type { HttpApi, SearchQuery } from '../../formats/schema/search-engine.ts'
import { findSearchEngine, searchEngines } from './engines/all.ts'
import { parseDomainRules } from './prepare.ts'

const key = 'key-of-the-engine'
const plain: SearchQuery = {
  query: 'tides of the North Sea',
  maxResults: 3,
  includeDomains: [],
  excludeDomains: [],
  mode: null,
  maxCharacters: 5000,
  userLocation: null,
}
const location = { city: 'Hamburg', region: 'Hamburg', country: 'DE', timezone: 'Europe/Berlin' }
const domains = (...texts: string[]) => parseDomainRules(texts, 'domains')

function apiOf(id: string): HttpApi {
  const api = findSearchEngine(id)?.api
  if (api?.kind !== 'http') throw new Error(`no engine ${id}`)
  return api
}

describe('requests of search engines', () => {
  test('exa', () => {
    const { encodeSearch } = apiOf('exa')
    expect(encodeSearch({ ...plain, mode: 'auto' }, key)).toEqual({
      method: 'POST',
      path: '/search',
      headers: { 'x-api-key': key },
      body: {
        query: 'tides of the North Sea',
        type: 'auto',
        numResults: 3,
        contents: { text: { maxCharacters: 5000 } },
      },
    })
    const lists = { includeDomains: domains('*.example.com'), excludeDomains: domains('example.org/x') }
    expect(encodeSearch({ ...plain, ...lists, userLocation: location }, key).body).toMatchObject({
      includeDomains: ['*.example.com'],
      excludeDomains: ['example.org/x'],
      userLocation: 'DE',
    })
  })

  test('parallel', () => {
    const { encodeSearch } = apiOf('parallel')
    const { path, headers, body } = encodeSearch(
      { ...plain, mode: 'basic', includeDomains: domains('example.com'), userLocation: location },
      key,
    )
    expect([path, headers]).toEqual(['/v1/search', { 'x-api-key': key }])
    expect(body).toEqual({
      objective: 'tides of the North Sea',
      search_queries: ['tides of the North Sea'],
      mode: 'basic',
      advanced_settings: {
        max_results: 3,
        excerpt_settings: { max_chars_per_result: 5000 },
        source_policy: { include_domains: ['example.com'] },
        location: 'de',
      },
    })
    const long = encodeSearch({ ...plain, query: 'x'.repeat(9000) }, key).body
    expect(long).toMatchObject({ objective: 'x'.repeat(5000), search_queries: ['x'.repeat(200)] })
  })

  test('firecrawl', () => {
    const { path, headers, body } = apiOf('firecrawl').encodeSearch(
      { ...plain, excludeDomains: domains('example.com'), userLocation: location },
      key,
    )
    expect([path, headers]).toEqual(['/v2/search', { authorization: `Bearer ${key}` }])
    expect(body).toEqual({
      query: 'tides of the North Sea',
      limit: 3,
      sources: ['web'],
      ignoreInvalidURLs: true,
      excludeDomains: ['example.com'],
      country: 'DE',
      location: 'Hamburg,Hamburg,DE',
      scrapeOptions: { formats: ['markdown'], onlyMainContent: true },
    })
  })

  test('perplexity', () => {
    const { path, headers, body } = apiOf('perplexity').encodeSearch(
      { ...plain, excludeDomains: domains('example.com'), userLocation: location },
      key,
    )
    expect([path, headers]).toEqual(['/search', { authorization: `Bearer ${key}` }])
    expect(body).toEqual({
      query: 'tides of the North Sea',
      max_results: 3,
      max_tokens_per_page: 1250,
      search_domain_filter: ['-example.com'],
      country: 'DE',
    })
  })

  test('searxng', () => {
    const { method, path, headers } = apiOf('searxng').encodeSearch(
      { ...plain, includeDomains: domains('a.test', 'b.test'), excludeDomains: domains('c.test') },
      '',
    )
    expect([method, headers]).toEqual(['GET', {}])
    expect(new URLSearchParams(path.slice('/search?'.length)).get('q')).toBe(
      'tides of the North Sea site:a.test OR site:b.test -site:c.test',
    )
    expect(path).toContain('format=json')
  })
})

describe('replies of search engines', () => {
  const expected = { url: 'https://a.test/1', title: 'One', text: 'First text' }
  test.each([
    [
      'exa',
      {
        requestId: 'r',
        results: [
          {
            id: 'https://a.test/1',
            url: 'https://a.test/1',
            title: 'One',
            text: 'First text',
            publishedDate: '2026-02-03T00:00:00.000Z',
            author: null,
          },
          { id: 'x', url: 'https://a.test/2', title: null },
        ],
        costDollars: { total: 0.007 },
      },
      '2026-02-03T00:00:00.000Z',
    ],
    [
      'parallel',
      {
        search_id: 's',
        session_id: 't',
        warnings: null,
        results: [
          { url: 'https://a.test/1', title: 'One', publish_date: '2026-02-03', excerpts: ['First text'] },
          { url: 'https://a.test/2', title: null, publish_date: null, excerpts: [] },
        ],
      },
      '2026-02-03',
    ],
    [
      'firecrawl',
      {
        success: true,
        data: {
          web: [
            {
              url: 'https://a.test/1',
              title: 'One',
              description: 'Short',
              markdown: 'First text',
              metadata: { statusCode: 200 },
            },
            { url: 'https://a.test/2', title: '' },
          ],
        },
        creditsUsed: 2,
      },
      null,
    ],
    [
      'perplexity',
      {
        id: 'p',
        results: [
          {
            url: 'https://a.test/1',
            title: 'One',
            snippet: 'First text',
            date: '2026-02-03',
            last_updated: '2026-02-04',
          },
          { url: 'https://a.test/2', title: '', snippet: '' },
        ],
      },
      '2026-02-03',
    ],
    [
      'searxng',
      {
        query: 'q',
        results: [
          {
            url: 'https://a.test/1',
            title: 'One',
            content: 'First text',
            publishedDate: '2026-02-03T00:00:00',
            engine: 'x',
          },
          { url: 'https://a.test/2', title: '', content: null },
        ],
      },
      '2026-02-03T00:00:00',
    ],
  ])('%s', (id, reply, publishedAt) => {
    const { decodeSearch } = apiOf(id)
    expect(decodeSearch(reply)).toEqual([
      { ...expected, publishedAt },
      { url: 'https://a.test/2', title: '', text: '', publishedAt: null },
    ])
    for (const malformed of [null, 'text', {}, { results: 'none' }, { data: [] }, { results: [{}] }])
      expect(decodeSearch(malformed)).toBeNull()
  })
})

describe('pages read by search engines', () => {
  const query = { url: 'https://a.test/page', maxCharacters: 900 }
  const page = { url: 'https://a.test/page', title: 'T', text: 'Body' }
  const pagesOf = (id: string) => {
    const { pages } = apiOf(id)
    if (!pages) throw new Error(`${id} reads no pages`)
    return pages
  }

  test('exa', () => {
    const { encode, decode } = pagesOf('exa')
    expect(encode(query, key)).toMatchObject({
      path: '/contents',
      body: { urls: ['https://a.test/page'], text: { maxCharacters: 900 } },
    })
    expect(decode({ results: [{ ...page, id: 'i' }], statuses: [{ id: 'i', status: 'success' }] })).toEqual(
      page,
    )
    const statuses = [{ id: 'i', status: 'error', error: { tag: 'CRAWL_NOT_FOUND', httpStatusCode: 404 } }]
    expect(decode({ results: [], statuses })).toEqual({ status: 404 })
  })

  test('parallel', () => {
    const { encode, decode } = pagesOf('parallel')
    expect(encode(query, key)).toMatchObject({
      path: '/v1/extract',
      body: {
        urls: ['https://a.test/page'],
        advanced_settings: { full_content: { max_chars_per_result: 900 } },
      },
    })
    const result = { url: page.url, title: 'T', excerpts: [], full_content: 'Body' }
    expect(decode({ extract_id: 'e', results: [result], errors: [] })).toEqual(page)
    const errors = [{ url: page.url, error_type: 'fetch_error', http_status_code: 403, content: null }]
    expect(decode({ results: [], errors })).toEqual({ status: 403 })
  })

  test('firecrawl', () => {
    const { encode, decode } = pagesOf('firecrawl')
    expect(encode(query, key)).toMatchObject({ path: '/v2/scrape', body: { url: 'https://a.test/page' } })
    const metadata = { title: 'T', sourceURL: page.url, statusCode: 200 }
    expect(decode({ success: true, data: { markdown: 'Body', metadata } })).toEqual(page)
    expect(decode({ data: { markdown: 'Not found', metadata: { statusCode: 404 } } })).toEqual({
      status: 404,
    })
    expect(decode({ success: true })).toEqual({ status: null })
  })
})

test('ids are unique, default modes exist, and prices are whole nano-dollars', () => {
  expect(new Set(searchEngines.map(({ id }) => id)).size).toBe(searchEngines.length)
  for (const { modes, defaultMode, prices } of searchEngines) {
    expect(defaultMode === null ? modes.length === 0 : modes.includes(defaultMode)).toBe(true)
    for (const mode of Object.keys(prices.modes)) expect(modes.some((known) => known === mode)).toBe(true)
  }
})
