import {
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Citation } from '../call/part.ts'

export function decodeCitation(value: JsonObject): Citation {
  const url = asString(firstFilled(value.url, value.source))
  const title = asString(firstFilled(value.title, value.document_title))
  const id = asString(value.file_id)
  const isFile = url === undefined && (title !== undefined || id !== undefined)
  const citation: Citation = omitUndefined({
    url,
    title,
    citedText: asString(value.cited_text),
    file: isFile ? omitUndefined({ id, name: title }) : undefined,
  })
  if (!isGatewayCitation(value)) citation.native = { wireFormat: 'messages', value }
  return citation
}

export function decodeCitations(value: unknown): Citation[] {
  return asObjects(value).map(decodeCitation)
}

/** Undefined for a citation that this format cannot express. */
export function encodeCitation(citation: Citation): JsonObject | undefined {
  if (citation.native?.wireFormat === 'messages') return citation.native.value
  if (citation.url === undefined) return encodeFileCitation(citation)
  return {
    type: 'web_search_result_location',
    cited_text: citation.citedText ?? '',
    encrypted_index: '',
    title: citation.title ?? null,
    url: citation.url,
  }
}

/** A file stored at another vendor is not among the documents of the request, so it has no index or offsets. */
function encodeFileCitation({ file, title, citedText }: Citation): JsonObject | undefined {
  if (!file) return undefined
  return {
    type: 'char_location',
    cited_text: citedText ?? '',
    document_index: 0,
    document_title: file.name ?? title ?? null,
    start_char_index: 0,
    end_char_index: 0,
    file_id: file.id ?? null,
  }
}

/** A citation written by `encodeCitation` for another model's reply; the vendor would reject it. */
export function isGatewayCitation(value: JsonObject): boolean {
  if (value.type === 'web_search_result_location') return value.encrypted_index === ''
  return value.type === 'char_location' && value.end_char_index === 0
}
