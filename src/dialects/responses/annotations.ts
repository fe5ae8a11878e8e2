import type { Citation, TokenLogprob } from '../../call/part.ts'
import { defined, type JsonObject, numberOf, objectsOf, textOf } from '../../lib/loose.ts'

export function decodeAnnotations(value: unknown): Citation[] {
  return objectsOf(value).map(decodeAnnotation)
}

export function decodeAnnotation(value: JsonObject): Citation {
  const file = fileOf(value)
  return defined({
    url: textOf(value.url),
    title: textOf(value.title) ?? file?.name,
    file,
    cited: textOf(value.content),
    start: numberOf(value.start_index),
    end: numberOf(value.end_index),
    native: { dialect: 'responses' as const, value },
  })
}

function fileOf(value: JsonObject): Citation['file'] {
  const [id, name, container] = [textOf(value.file_id), textOf(value.filename), textOf(value.container_id)]
  if (id === undefined && name === undefined) return undefined
  return defined({ id: id || undefined, name: name || undefined, container })
}

/** Null for a citation this format has no form for. */
export function encodeAnnotation(citation: Citation): JsonObject | null {
  if (citation.native?.dialect === 'responses') return citation.native.value
  if (citation.url === undefined) return encodeFile(citation)
  return defined({
    type: 'url_citation',
    url: citation.url,
    title: citation.title ?? '',
    start_index: citation.start ?? 0,
    end_index: citation.end ?? citation.start ?? 0,
    content: citation.cited,
  })
}

function encodeFile({ file, title, cited: content, start, end }: Citation): JsonObject | null {
  const filename = file?.name ?? title
  if (!file || (file.id === undefined && filename === undefined)) return null
  const cited = defined({ file_id: file.id ?? '', filename: filename ?? '', content })
  if (file.container === undefined) return { type: 'file_citation', ...cited, index: end ?? start ?? 0 }
  const place = { start_index: start ?? 0, end_index: end ?? start ?? 0 }
  return { type: 'container_file_citation', container_id: file.container, ...cited, ...place }
}

export function encodeAnnotations(citations: Citation[] | undefined): JsonObject[] {
  return (citations ?? []).map(encodeAnnotation).filter((annotation) => annotation !== null)
}

export function decodeLogprobs(value: unknown): TokenLogprob[] {
  return objectsOf(value).map((entry) => ({
    ...decodeToken(entry),
    top: objectsOf(entry.top_logprobs).map(decodeToken),
  }))
}

function decodeToken(entry: JsonObject) {
  const token = textOf(entry.token) ?? ''
  const bytes = Array.isArray(entry.bytes) ? entry.bytes.filter((byte) => typeof byte === 'number') : []
  // The format wants an array: an empty one stands for bytes that were not told.
  return { token, logprob: numberOf(entry.logprob) ?? 0, bytes: bytes.length > 0 ? bytes : null }
}

export function encodeLogprobs(logprobs: TokenLogprob[] | undefined): JsonObject[] {
  return (logprobs ?? []).map(({ top, ...token }) => ({
    ...encodeToken(token),
    top_logprobs: top.map(encodeToken),
  }))
}

function encodeToken({ token, logprob, bytes }: Omit<TokenLogprob, 'top'>): JsonObject {
  return { token, logprob, bytes: bytes ?? [] }
}
