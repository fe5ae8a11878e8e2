import {
  asNumber,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { Citation, TokenLogprob } from '../call/part.ts'

export function decodeAnnotations(value: unknown): Citation[] {
  return asObjects(value).map(decodeAnnotation)
}

export function decodeAnnotation(value: JsonObject): Citation {
  const file = decodeCitedFile(value)
  return omitUndefined({
    url: asString(value.url),
    title: asString(value.title) ?? file?.name,
    file,
    citedText: asString(value.content),
    start: asNumber(value.start_index),
    end: asNumber(value.end_index),
    native: { wireFormat: 'responses' as const, value },
  })
}

function decodeCitedFile(value: JsonObject): Citation['file'] {
  const [id, name, container] = [
    asString(value.file_id),
    asString(value.filename),
    asString(value.container_id),
  ]
  if (id === undefined && name === undefined) return undefined
  return omitUndefined({ id: id || undefined, name: name || undefined, container })
}

/** Null for a citation this format cannot express. */
export function encodeAnnotation(citation: Citation): JsonObject | null {
  if (citation.native?.wireFormat === 'responses') return citation.native.value
  if (citation.url === undefined) return encodeFileCitation(citation)
  return omitUndefined({
    type: 'url_citation',
    url: citation.url,
    title: citation.title ?? '',
    start_index: citation.start ?? 0,
    end_index: citation.end ?? citation.start ?? 0,
    content: citation.citedText,
  })
}

function encodeFileCitation({ file, title, citedText: content, start, end }: Citation): JsonObject | null {
  const filename = file?.name ?? title
  if (!file || (file.id === undefined && filename === undefined)) return null
  const fields = omitUndefined({ file_id: file.id ?? '', filename: filename ?? '', content })
  if (file.container === undefined) return { type: 'file_citation', ...fields, index: end ?? start ?? 0 }
  const range = { start_index: start ?? 0, end_index: end ?? start ?? 0 }
  return { type: 'container_file_citation', container_id: file.container, ...fields, ...range }
}

export function encodeAnnotations(citations: Citation[] | undefined): JsonObject[] {
  return (citations ?? []).map(encodeAnnotation).filter((annotation) => annotation !== null)
}

export function decodeLogprobs(value: unknown): TokenLogprob[] {
  return asObjects(value).map((entry) => ({
    ...decodeTokenLogprob(entry),
    top: asObjects(entry.top_logprobs).map(decodeTokenLogprob),
  }))
}

function decodeTokenLogprob(entry: JsonObject) {
  const token = asString(entry.token) ?? ''
  const bytes = Array.isArray(entry.bytes) ? entry.bytes.filter((byte) => typeof byte === 'number') : []
  // The format requires an array, which is empty when the bytes are unknown.
  return { token, logprob: asNumber(entry.logprob) ?? 0, bytes: bytes.length > 0 ? bytes : null }
}

export function encodeLogprobs(logprobs: TokenLogprob[] | undefined): JsonObject[] {
  return (logprobs ?? []).map(({ top, ...token }) => ({
    ...encodeTokenLogprob(token),
    top_logprobs: top.map(encodeTokenLogprob),
  }))
}

function encodeTokenLogprob({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): JsonObject {
  return { token, logprob, bytes: bytes ?? [] }
}
