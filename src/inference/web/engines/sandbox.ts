import { free, type SearchEngine } from '../../../formats/schema/search-engine.ts'

const origin = 'https://search.sandbox.example'
const topics = ['overview', 'news', 'guide', 'reference', 'history']

/** A simulated engine: the same results for the same query, without a network. */
export const sandbox: SearchEngine = {
  id: 'sandbox',
  name: 'Sandbox',
  prices: free,
  pagePrice: 0n,
  modes: [],
  defaultMode: null,
  maxResults: 25,
  domainLists: 'both',
  hasDomainPatterns: true,
  maxDomains: 100,
  hasLocation: false,
  api: {
    kind: 'simulated',
    search: ({ query, maxResults }) =>
      Array.from({ length: maxResults }, (_, index) => {
        const topic = topics[index % topics.length] ?? ''
        const number = Math.floor(index / topics.length) + 1
        const path = [slugOf(query), topic, ...(number > 1 ? [number] : [])].join('/')
        return {
          url: `${origin}/${path}`,
          title: `${query}: ${topic}`,
          text: `This is result ${index + 1} of the simulated search for "${query}".`,
          publishedAt: '2026-01-01',
        }
      }),
    readPage: ({ url }) => ({
      url,
      title: 'Simulated page',
      text: `This is the simulated content of ${url}.`,
    }),
  },
}

function slugOf(query: string): string {
  return (
    query
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 60) || 'query'
  )
}
