import { z } from 'zod'
import type { SearchEngine } from '../../../formats/schema/search-engine.ts'

/** Conversion to tokens, in which Perplexity limits a result. */
const charactersPerToken = 4

const found = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      snippet: z.string().nullish(),
      date: z.string().nullish(),
    }),
  ),
})

export const perplexity: SearchEngine = {
  id: 'perplexity',
  name: 'Perplexity',
  prices: { search: 5_000_000n, modes: {}, additionalResult: 0n },
  pagePrice: null,
  modes: [],
  defaultMode: null,
  maxResults: 20,
  domainLists: 'include_wins',
  hasDomainPatterns: false,
  maxDomains: 20,
  hasLocation: true,
  api: {
    kind: 'http',
    baseUrl: 'https://api.perplexity.ai',
    needsKey: true,
    encodeSearch: (
      { query, maxResults, maxCharacters, userLocation, includeDomains, excludeDomains },
      key,
    ) => {
      const domains = [
        ...includeDomains.map(({ host }) => host),
        ...excludeDomains.map(({ host }) => `-${host}`),
      ]
      return {
        method: 'POST',
        path: '/search',
        headers: { authorization: `Bearer ${key}` },
        body: {
          query,
          max_results: maxResults,
          max_tokens_per_page: Math.ceil(maxCharacters / charactersPerToken),
          ...(domains.length > 0 && { search_domain_filter: domains }),
          ...(userLocation?.country && { country: userLocation.country }),
        },
      }
    },
    decodeSearch: (reply) => {
      const read = found.safeParse(reply)
      if (!read.success) return null
      return read.data.results.map(({ url, title, snippet, date }) => ({
        url,
        title: title ?? '',
        text: snippet ?? '',
        publishedAt: date ?? null,
      }))
    },
  },
}
