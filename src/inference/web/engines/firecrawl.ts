import { z } from 'zod'
import {
  type EngineRequest,
  free,
  type SearchEngine,
  type UserLocation,
} from '../../../formats/schema/search-engine.ts'

const result = z.object({
  url: z.string(),
  title: z.string().nullish(),
  description: z.string().nullish(),
  markdown: z.string().nullish(),
})
const found = z.object({ data: z.object({ web: z.array(result).nullish() }) })
const scraped = z.object({
  data: z
    .object({
      markdown: z.string().nullish(),
      metadata: z
        .object({
          title: z.unknown().optional(),
          url: z.string().nullish(),
          sourceURL: z.string().nullish(),
          statusCode: z.number().nullish(),
        })
        .nullish(),
    })
    .nullish(),
})

/** Billed in credits of a plan, so that a search has no price of its own. */
export const firecrawl: SearchEngine = {
  id: 'firecrawl',
  name: 'Firecrawl',
  prices: free,
  pagePrice: 0n,
  modes: [],
  defaultMode: null,
  maxResults: 25,
  domainLists: 'exclusive',
  hasDomainPatterns: false,
  maxDomains: 100,
  hasLocation: true,
  api: {
    kind: 'http',
    baseUrl: 'https://api.firecrawl.dev',
    needsKey: true,
    encodeSearch: ({ query, maxResults, userLocation, includeDomains, excludeDomains }, key) =>
      post('/v2/search', key, {
        query,
        limit: maxResults,
        sources: ['web'],
        ignoreInvalidURLs: true,
        ...(includeDomains.length > 0 && { includeDomains: includeDomains.map(({ host }) => host) }),
        ...(excludeDomains.length > 0 && { excludeDomains: excludeDomains.map(({ host }) => host) }),
        ...(userLocation && encodeLocation(userLocation)),
        scrapeOptions: { formats: ['markdown'], onlyMainContent: true },
      }),
    decodeSearch: (reply) => {
      const read = found.safeParse(reply)
      if (!read.success) return null
      return (read.data.data.web ?? []).map(({ url, title, description, markdown }) => ({
        url,
        title: title ?? '',
        text: markdown || description || '',
        publishedAt: null,
      }))
    },
    pages: {
      encode: ({ url }, key) =>
        post('/v2/scrape', key, { url, formats: ['markdown'], onlyMainContent: true }),
      decode: (reply) => {
        const read = scraped.safeParse(reply)
        if (!read.success) return null
        const { markdown, metadata } = read.data.data ?? {}
        const { title, url, sourceURL, statusCode } = metadata ?? {}
        if (!markdown || (statusCode ?? 200) >= 400) return { status: statusCode ?? null }
        return {
          url: url ?? sourceURL ?? '',
          title: typeof title === 'string' ? title : null,
          text: markdown,
        }
      },
    },
  },
}

function encodeLocation({ city, region, country }: UserLocation): Record<string, string> {
  const place = [city, region, country].filter((name) => name).join(',')
  return { ...(country && { country }), ...(place !== '' && { location: place }) }
}

function post(path: string, key: string, body: Record<string, unknown>): EngineRequest {
  return { method: 'POST', path, headers: { authorization: `Bearer ${key}` }, body }
}
