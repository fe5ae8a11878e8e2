import type { Citation, TokenLogprob } from '../../call/part.ts'
import { defined, type JsonObject, numberOf, objectsOf, textOf } from '../../lib/loose.ts'

export function decodeAnnotations(value: unknown): Citation[] {
  return objectsOf(value).map(decodeAnnotation)
}

export function decodeAnnotation(value: JsonObject): Citation {
  return defined({
    url: textOf(value.url),
    title: textOf(value.title),
    cited: textOf(value.content),
    start: numberOf(value.start_index),
    end: numberOf(value.end_index),
    native: { dialect: 'responses' as const, value },
  })
}

/** Null for a citation this format has no form for. */
export function encodeAnnotation(citation: Citation): JsonObject | null {
  if (citation.native?.dialect === 'responses') return citation.native.value
  if (citation.url === undefined) return null
  return defined({
    type: 'url_citation',
    url: citation.url,
    title: citation.title ?? '',
    start_index: citation.start ?? 0,
    end_index: citation.end ?? citation.start ?? 0,
    content: citation.cited,
  })
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
