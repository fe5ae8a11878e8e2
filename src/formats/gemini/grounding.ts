import {
  asNumber,
  asObject,
  asObjects,
  asString,
  firstFilled,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { TextOffsets } from '../../platform/text/text-offsets.ts'
import type { Citation, TokenLogprob } from '../call/part.ts'
import { readField } from './field-names.ts'

/**
 * Citations of a candidate. Supports map ranges of the text to sources; a source without supports applies to
 * the whole text. `text`: the text that ranges refer to; null to omit ranges.
 */
export function decodeCitations(candidate: JsonObject, text: string | null): Citation[] {
  const grounding = asObject(candidate.groundingMetadata)
  const offsets = text === null ? null : new TextOffsets(text)
  const sources = asObjects(grounding?.groundingChunks).map(decodeGroundingChunk)
  const supports = asObjects(grounding?.groundingSupports)
  const used = new Set<unknown>()
  const supported = supports.flatMap((support) => {
    const range = decodeTextRange(asObject(support.segment), offsets)
    const indices = Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : []
    for (const index of indices) used.add(index)
    return indices.flatMap((index) => (sources[index] ? [{ ...sources[index], ...range }] : []))
  })
  const recited = asObjects(asObject(candidate.citationMetadata)?.citationSources).map((source) => ({
    ...omitUndefined({ url: asString(source.uri), title: asString(source.title) }),
    ...decodeTextRange(source, offsets),
  }))
  return [...supported, ...sources.filter((_, index) => !used.has(index)), ...recited]
}

function decodeGroundingChunk(chunk: JsonObject): Citation {
  const source = asObject(firstFilled(chunk.web, chunk.retrievedContext, chunk.maps, chunk.image)) ?? {}
  const url = asString(firstFilled(source.uri, source.sourceUri, source.imageUri)) || undefined
  return omitUndefined({
    url,
    title: asString(source.title) || undefined,
    citedText: asString(source.text),
    file: url === undefined ? decodeFile(source) : undefined,
    native: { wireFormat: 'gemini' as const, value: chunk },
  })
}

/** A document of the vendor's search; the media and the store identify one that has no name of its own. */
function decodeFile(source: JsonObject): Citation['file'] {
  const name = asString(source.title) || undefined
  const document = firstFilled(source.documentName, readField(source, 'mediaId'))
  const id = asString(document) || (name === undefined ? asString(source.fileSearchStore) : undefined)
  return name === undefined && !id ? undefined : omitUndefined({ id: id || undefined, name })
}

function encodeGroundingChunk({ url, title, citedText, file, native }: Citation): JsonObject {
  if (native?.wireFormat === 'gemini') return native.value
  if (url !== undefined || !file) return { web: omitUndefined({ uri: url, title }) }
  return {
    retrievedContext: omitUndefined({ title: file.name ?? title, text: citedText, documentName: file.id }),
  }
}

/** The vendor's offsets count bytes; a missing start is 0. */
function decodeTextRange(
  segment: JsonObject | undefined,
  offsets: TextOffsets | null,
): { start?: number; end?: number } {
  const end = asNumber(segment?.endIndex)
  if (offsets === null || end === undefined) return {}
  const start = asNumber(segment?.startIndex) ?? 0
  return { start: offsets.toCharacters(start), end: offsets.toCharacters(end) }
}

export function countSearches(candidate: JsonObject): number {
  const queries = asObject(candidate.groundingMetadata)?.webSearchQueries
  return Array.isArray(queries) ? queries.length : 0
}

export function decodeLogprobs(candidate: JsonObject): TokenLogprob[] {
  const result = asObject(candidate.logprobsResult)
  const top = asObjects(result?.topCandidates)
  return asObjects(result?.chosenCandidates).map((chosen, step) => ({
    ...decodeToken(chosen),
    top: asObjects(top[step]?.candidates).map(decodeToken),
  }))
}

function decodeToken(candidate: JsonObject): Omit<TokenLogprob, 'top'> {
  return {
    token: asString(candidate.token) ?? '',
    logprob: asNumber(candidate.logProbability) ?? 0,
    bytes: null,
  }
}

export function encodeLogprobs(logprobs: TokenLogprob[]): JsonObject {
  const encode = ({ token, logprob }: Omit<TokenLogprob, 'top'>) => ({ token, logProbability: logprob })
  return {
    chosenCandidates: logprobs.map(encode),
    topCandidates: logprobs.map(({ top }) => ({ candidates: top.map(encode) })),
  }
}

/** Citations as grounding metadata; `base` is the byte offset of their text. */
export function encodeGrounding(
  citedTexts: { text: string; base: number; citations: Citation[] }[],
): JsonObject {
  const chunks: JsonObject[] = []
  const supports: JsonObject[] = []
  const chunkIndexes = new Map<string, number>()
  for (const { text, base, citations } of citedTexts) {
    const offsets = new TextOffsets(text)
    for (const citation of citations) {
      const { start, end } = citation
      const chunk = encodeGroundingChunk(citation)
      const key = JSON.stringify(chunk)
      const index = chunkIndexes.get(key) ?? chunks.push(chunk) - 1
      chunkIndexes.set(key, index)
      if (start === undefined || end === undefined) continue
      const segment = {
        startIndex: base + offsets.toBytes(start),
        endIndex: base + offsets.toBytes(end),
        text: text.slice(start, end),
      }
      supports.push({ segment, groundingChunkIndices: [index] })
    }
  }
  return omitUndefined({
    groundingChunks: chunks,
    groundingSupports: supports.length > 0 ? supports : undefined,
  })
}
