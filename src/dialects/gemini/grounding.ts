import type { Citation, TokenLogprob } from '../../call/part.ts'
import { defined, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../lib/loose.ts'
import { TextOffsets } from '../../lib/text-offsets.ts'

/**
 * Where an answer comes from. Supports tie passages of the text to sources; a source without any stands
 * for the whole text. `text`: the part that is cited; null when it cannot be pointed into any more.
 */
export function citationsOf(candidate: JsonObject, text: string | null): Citation[] {
  const grounding = objectOf(candidate.groundingMetadata)
  const offsets = text === null ? null : new TextOffsets(text)
  const sources = objectsOf(grounding?.groundingChunks).map(sourceOf)
  const supports = objectsOf(grounding?.groundingSupports)
  const used = new Set<unknown>()
  const supported = supports.flatMap((support) => {
    const place = placeOf(objectOf(support.segment), offsets)
    const indices = Array.isArray(support.groundingChunkIndices) ? support.groundingChunkIndices : []
    for (const index of indices) used.add(index)
    return indices.flatMap((index) => (sources[index] ? [{ ...sources[index], ...place }] : []))
  })
  const recited = objectsOf(objectOf(candidate.citationMetadata)?.citationSources).map((source) => ({
    ...defined({ url: textOf(source.uri), title: textOf(source.title) }),
    ...placeOf(source, offsets),
  }))
  return [...supported, ...sources.filter((_, index) => !used.has(index)), ...recited]
}

function sourceOf(chunk: JsonObject): Citation {
  const retrieved = objectOf(chunk.retrievedContext)
  const source = objectOf(chunk.web) ?? retrieved ?? objectOf(chunk.maps) ?? {}
  const [url, title, id] = [textOf(source.uri), textOf(source.title), textOf(retrieved?.documentName)]
  const isFile = retrieved !== undefined && url === undefined && (title !== undefined || id !== undefined)
  const file = isFile ? defined({ id, name: title }) : undefined
  return defined({ url, title, cited: textOf(source.text), file })
}

function chunkOf({ url, title, cited, file }: Citation): JsonObject {
  if (url !== undefined || !file) return { web: defined({ uri: url, title }) }
  return { retrievedContext: defined({ title: file.name ?? title, text: cited, documentName: file.id }) }
}

/** The vendor counts bytes, from 0 where it says nothing. */
function placeOf(
  segment: JsonObject | undefined,
  offsets: TextOffsets | null,
): { start?: number; end?: number } {
  const end = numberOf(segment?.endIndex)
  if (offsets === null || end === undefined) return {}
  const start = numberOf(segment?.startIndex) ?? 0
  return { start: offsets.characters(start), end: offsets.characters(end) }
}

export function searchesOf(candidate: JsonObject): number {
  const queries = objectOf(candidate.groundingMetadata)?.webSearchQueries
  return Array.isArray(queries) ? queries.length : 0
}

export function logprobsOf(candidate: JsonObject): TokenLogprob[] {
  const result = objectOf(candidate.logprobsResult)
  const top = objectsOf(result?.topCandidates)
  return objectsOf(result?.chosenCandidates).map((chosen, step) => ({
    ...tokenOf(chosen),
    top: objectsOf(top[step]?.candidates).map(tokenOf),
  }))
}

function tokenOf(candidate: JsonObject): Omit<TokenLogprob, 'top'> {
  return {
    token: textOf(candidate.token) ?? '',
    logprob: numberOf(candidate.logProbability) ?? 0,
    bytes: null,
  }
}

export function writeLogprobs(logprobs: TokenLogprob[]): JsonObject {
  const write = ({ token, logprob }: Omit<TokenLogprob, 'top'>) => ({ token, logProbability: logprob })
  return {
    chosenCandidates: logprobs.map(write),
    topCandidates: logprobs.map(({ top }) => ({ candidates: top.map(write) })),
  }
}

/** Citations of any origin as grounding; `base` is where their text begins, in bytes. */
export function writeGrounding(cited: { text: string; base: number; citations: Citation[] }[]): JsonObject {
  const chunks: JsonObject[] = []
  const supports: JsonObject[] = []
  const known = new Map<string, number>()
  for (const { text, base, citations } of cited) {
    const offsets = new TextOffsets(text)
    for (const citation of citations) {
      const { start, end } = citation
      const chunk = chunkOf(citation)
      const key = JSON.stringify(chunk)
      const index = known.get(key) ?? chunks.push(chunk) - 1
      known.set(key, index)
      if (start === undefined || end === undefined) continue
      const segment = {
        startIndex: base + offsets.bytes(start),
        endIndex: base + offsets.bytes(end),
        text: text.slice(start, end),
      }
      supports.push({ segment, groundingChunkIndices: [index] })
    }
  }
  return defined({
    groundingChunks: chunks,
    groundingSupports: supports.length > 0 ? supports : undefined,
  })
}
