import { z } from 'zod'
import { free, type SearchEngine } from '../../../formats/schema/search-engine.ts'

/** More than that no search service accepts in one query. */
const maxSites = 10

const found = z.object({
  results: z.array(
    z.object({
      url: z.string(),
      title: z.string().nullish(),
      content: z.string().nullish(),
      publishedDate: z.string().nullish(),
    }),
  ),
})

/** The operator's own server. Its `settings.yml` must allow the format `json`. */
export const searxng: SearchEngine = {
  id: 'searxng',
  name: 'SearXNG',
  prices: free,
  pagePrice: null,
  modes: [],
  defaultMode: null,
  maxResults: 25,
  domainLists: 'both',
  hasDomainPatterns: false,
  maxDomains: maxSites,
  hasLocation: false,
  api: {
    kind: 'http',
    baseUrl: null,
    needsKey: false,
    // The services behind it understand `site:` to different degrees: the results are filtered again.
    encodeSearch: ({ query, includeDomains, excludeDomains }) => {
      const sites = includeDomains.map(({ host }) => `site:${host}`).join(' OR ')
      const others = excludeDomains.map(({ host }) => `-site:${host}`)
      const text = [query, sites, ...others].filter((part) => part !== '').join(' ')
      const params = new URLSearchParams({ q: text, format: 'json', pageno: '1' })
      return { method: 'GET', path: `/search?${params}`, headers: {}, body: null }
    },
    decodeSearch: (reply) => {
      const read = found.safeParse(reply)
      if (!read.success) return null
      return read.data.results.map(({ url, title, content, publishedDate }) => ({
        url,
        title: title ?? '',
        text: content ?? '',
        publishedAt: publishedDate ?? null,
      }))
    },
  },
}
