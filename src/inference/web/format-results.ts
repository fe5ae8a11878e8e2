import type { Citation } from '../../formats/call/part.ts'
import type { SearchResult } from '../../formats/schema/search-engine.ts'

/** Formats results for the model. */
export function formatResults(results: readonly SearchResult[]): string {
  if (results.length === 0) return 'The search found nothing.'
  const texts = results.map(({ url, title, text, publishedAt }, index) =>
    [
      `[${index + 1}] ${title || url}`,
      `URL: ${url}`,
      ...(publishedAt === null ? [] : [`Published: ${publishedAt}`]),
      '',
      text,
    ].join('\n'),
  )
  return texts.join('\n\n---\n\n')
}

/** The cited text is an excerpt: the client has the URL. */
const maxCitedText = 300

export function toCitation({ url, title, text }: SearchResult): Citation {
  const citedText = text.slice(0, maxCitedText).toWellFormed()
  return { url, ...(title && { title }), ...(citedText && { citedText }) }
}
