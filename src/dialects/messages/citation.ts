import type { Citation } from '../../call/part.ts'
import { defined, type JsonObject, objectsOf, textOf } from '../../lib/loose.ts'

export function readCitation(value: JsonObject): Citation {
  const url = textOf(value.url) ?? textOf(value.source)
  const title = textOf(value.title) ?? textOf(value.document_title)
  const id = textOf(value.file_id)
  const isFile = url === undefined && (title !== undefined || id !== undefined)
  const citation: Citation = defined({
    url,
    title,
    cited: textOf(value.cited_text),
    file: isFile ? defined({ id, name: title }) : undefined,
  })
  if (!isBorrowed(value)) citation.native = { dialect: 'messages', value }
  return citation
}

export function readCitations(value: unknown): Citation[] {
  return objectsOf(value).map(readCitation)
}

/** Undefined for a citation this format has no form for. */
export function writeCitation(citation: Citation): JsonObject | undefined {
  if (citation.native?.dialect === 'messages') return citation.native.value
  if (citation.url === undefined) return writeDocument(citation)
  return {
    type: 'web_search_result_location',
    cited_text: citation.cited ?? '',
    encrypted_index: '',
    title: citation.title ?? null,
    url: citation.url,
  }
}

/** A file of another vendor is a document that the request did not have: no place in it can be given. */
function writeDocument({ file, title, cited }: Citation): JsonObject | undefined {
  if (!file) return undefined
  return {
    type: 'char_location',
    cited_text: cited ?? '',
    document_index: 0,
    document_title: file.name ?? title ?? null,
    start_char_index: 0,
    end_char_index: 0,
    file_id: file.id ?? null,
  }
}

/** A citation that `writeCitation` made: it points at nothing of the vendor's, which would refuse it. */
export function isBorrowed(value: JsonObject): boolean {
  if (value.type === 'web_search_result_location') return value.encrypted_index === ''
  return value.type === 'char_location' && value.end_char_index === 0
}
