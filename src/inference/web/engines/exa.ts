import { z } from 'zod'
import type { EngineRequest, SearchEngine } from '../../../formats/schema/search-engine.ts'
import { formatDomainRule } from '../domains.ts'

const page = z.object({
  url: z.string(),
  title: z.string().nullish(),
  text: z.string().nullish(),
  publishedDate: z.string().nullish(),
})
const pages = z.object({
  results: z.array(page),
  statuses: z
    .array(
      z.object({ status: z.string(), error: z.object({ httpStatusCode: z.number().nullish() }).nullish() }),
    )
    .optional(),
})

export const exa: SearchEngine = {
  id: 'exa',
  name: 'Exa',
  prices: {
    search: 7_000_000n,
    modes: { 'deep-lite': 12_000_000n, deep: 12_000_000n, 'deep-reasoning': 15_000_000n },
    additionalResult: 1_000_000n,
  },
  pagePrice: 1_000_000n,
  modes: ['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning'],
  defaultMode: 'auto',
  maxResults: 25,
  domainLists: 'both',
  hasDomainPatterns: true,
  maxDomains: 1000,
  hasLocation: true,
  api: {
    kind: 'http',
    baseUrl: 'https://api.exa.ai',
    needsKey: true,
    encodeSearch: ({ query, maxResults, mode, maxCharacters, userLocation, ...domains }, key) =>
      post('/search', key, {
        query,
        type: mode,
        numResults: maxResults,
        ...(domains.includeDomains.length > 0 && {
          includeDomains: domains.includeDomains.map(formatDomainRule),
        }),
        ...(domains.excludeDomains.length > 0 && {
          excludeDomains: domains.excludeDomains.map(formatDomainRule),
        }),
        ...(userLocation?.country && { userLocation: userLocation.country }),
        contents: { text: { maxCharacters } },
      }),
    decodeSearch: (reply) => {
      const read = z.object({ results: z.array(page) }).safeParse(reply)
      if (!read.success) return null
      return read.data.results.map(({ url, title, text, publishedDate }) => ({
        url,
        title: title ?? '',
        text: text ?? '',
        publishedAt: publishedDate ?? null,
      }))
    },
    pages: {
      encode: ({ url, maxCharacters }, key) =>
        post('/contents', key, { urls: [url], text: { maxCharacters }, livecrawl: 'fallback' }),
      decode: (reply) => {
        const read = pages.safeParse(reply)
        if (!read.success) return null
        const [result] = read.data.results
        if (result?.text) return { url: result.url, title: result.title ?? null, text: result.text }
        return { status: read.data.statuses?.[0]?.error?.httpStatusCode ?? null }
      },
    },
  },
}

function post(path: string, key: string, body: Record<string, unknown>): EngineRequest {
  return { method: 'POST', path, headers: { 'x-api-key': key }, body }
}
