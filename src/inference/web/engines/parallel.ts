import { z } from 'zod'
import type { EngineRequest, SearchEngine } from '../../../formats/schema/search-engine.ts'

const maxObjective = 5_000
const maxKeywords = 200

const result = z.object({
  url: z.string(),
  title: z.string().nullish(),
  publish_date: z.string().nullish(),
  excerpts: z.array(z.string()).nullish(),
  full_content: z.string().nullish(),
})
const extract = z.object({
  results: z.array(result),
  errors: z.array(z.object({ http_status_code: z.number().nullish() })).nullish(),
})

export const parallel: SearchEngine = {
  id: 'parallel',
  name: 'Parallel',
  prices: {
    search: 5_000_000n,
    modes: { turbo: 1_000_000n, fast: 1_000_000n },
    additionalResult: 1_000_000n,
  },
  pagePrice: 1_000_000n,
  modes: ['turbo', 'fast', 'basic', 'advanced'],
  defaultMode: 'basic',
  maxResults: 25,
  domainLists: 'exclusive',
  hasDomainPatterns: false,
  maxDomains: 200,
  hasLocation: true,
  api: {
    kind: 'http',
    baseUrl: 'https://api.parallel.ai',
    needsKey: true,
    encodeSearch: (
      { query, maxResults, mode, maxCharacters, userLocation, includeDomains, excludeDomains },
      key,
    ) =>
      post('/v1/search', key, {
        objective: query.slice(0, maxObjective),
        search_queries: [query.slice(0, maxKeywords)],
        mode,
        advanced_settings: {
          max_results: maxResults,
          excerpt_settings: { max_chars_per_result: maxCharacters },
          ...(includeDomains.length > 0 && {
            source_policy: { include_domains: includeDomains.map(({ host }) => host) },
          }),
          ...(excludeDomains.length > 0 && {
            source_policy: { exclude_domains: excludeDomains.map(({ host }) => host) },
          }),
          ...(userLocation?.country && { location: userLocation.country.toLowerCase() }),
        },
      }),
    decodeSearch: (reply) => {
      const read = z.object({ results: z.array(result) }).safeParse(reply)
      if (!read.success) return null
      return read.data.results.map(({ url, title, excerpts, publish_date }) => ({
        url,
        title: title ?? '',
        text: (excerpts ?? []).join('\n\n'),
        publishedAt: publish_date ?? null,
      }))
    },
    pages: {
      encode: ({ url, maxCharacters }, key) =>
        post('/v1/extract', key, {
          urls: [url],
          advanced_settings: { full_content: { max_chars_per_result: maxCharacters } },
        }),
      decode: (reply) => {
        const read = extract.safeParse(reply)
        if (!read.success) return null
        const [found] = read.data.results
        if (found?.full_content)
          return { url: found.url, title: found.title ?? null, text: found.full_content }
        return { status: read.data.errors?.[0]?.http_status_code ?? null }
      },
    },
  },
}

function post(path: string, key: string, body: Record<string, unknown>): EngineRequest {
  return { method: 'POST', path, headers: { 'x-api-key': key }, body }
}
