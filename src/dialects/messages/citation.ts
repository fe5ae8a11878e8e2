import type { Citation } from '../../call/part.ts'
import { defined, type JsonObject, objectsOf, textOf } from '../../lib/loose.ts'

export function readCitation(value: JsonObject): Citation {
  const citation: Citation = defined({
    url: textOf(value.url) ?? textOf(value.source),
    title: textOf(value.title) ?? textOf(value.document_title),
    cited: textOf(value.cited_text),
  })
  // Without its index the vendor did not make it: it is one of those `writeCitation` makes of a URL.
  if (value.encrypted_index !== '') citation.native = { dialect: 'messages', value }
  return citation
}

export function readCitations(value: unknown): Citation[] {
  return objectsOf(value).map(readCitation)
}

/** Undefined for a citation this format has no form for. */
export function writeCitation(citation: Citation): JsonObject | undefined {
  if (citation.native?.dialect === 'messages') return citation.native.value
  if (citation.url === undefined) return undefined
  return {
    type: 'web_search_result_location',
    cited_text: citation.cited ?? '',
    encrypted_index: '',
    title: citation.title ?? null,
    url: citation.url,
  }
}

/** A citation that `writeCitation` made: it points at no search of the vendor's, which would refuse it. */
export function isBorrowed(value: JsonObject): boolean {
  return value.type === 'web_search_result_location' && value.encrypted_index === ''
}
