import { asNumber, asObject, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { InputPart } from '../call/part.ts'
import { countSearches, type RerankCall, type RerankDocument } from '../call/rerank.ts'
import { computeRequestSize, type RequestSize } from '../call/size.ts'
import { decodeSource } from '../chat/parts-decode.ts'
import { pickUnknown } from '../fields.ts'
import { rerankRequest } from './schema.ts'

/** A validated request in the internal form, as a prompt, and its size. */
export function decodeRerank(body: JsonObject): {
  body: JsonObject
  call: RerankCall
  prompt: ModelCall
  size: RequestSize
} {
  const topN = asNumber(body.top_n)
  const call: RerankCall = {
    query: asString(body.query) ?? '',
    documents: Array.isArray(body.documents) ? body.documents.map(decodeDocument) : [],
    ...(topN !== undefined && { topN }),
    extra: pickUnknown(body, knownFields),
  }
  const prompt = toPrompt(call)
  return { body, call, prompt, size: measure(call, prompt) }
}

const knownFields: ReadonlySet<string> = new Set(Object.keys(rerankRequest.shape))

function decodeDocument(value: unknown): RerankDocument {
  if (typeof value === 'string') return { text: value }
  const { text, image } = asObject(value) ?? {}
  return {
    ...(typeof text === 'string' && { text }),
    ...(typeof image === 'string' && { image }),
  }
}

/** A message for each document, because the model reads the query with each. */
function toPrompt({ query, documents }: RerankCall): ModelCall {
  const question: InputPart = { kind: 'text', text: query }
  const toParts = ({ text, image }: RerankDocument): InputPart[] => [
    question,
    ...(text === undefined ? [] : [{ kind: 'text' as const, text }]),
    ...(image === undefined ? [] : [{ kind: 'image' as const, source: decodeSource(image) }]),
  ]
  return {
    messages: documents.map((document) => ({ role: 'user', parts: toParts(document) })),
    stream: false,
    unknown: [],
  }
}

/** Providers that bill by search split a document together with its query into chunks of so many tokens. */
const tokensPerChunk = 500
/** A longer query is truncated to its half of a chunk. */
const minDocumentTokens = tokensPerChunk / 2

function measure({ query, documents }: RerankCall, prompt: ModelCall): RequestSize {
  const queryBytes = Buffer.byteLength(query)
  const room = Math.max(minDocumentTokens, tokensPerChunk - queryBytes)
  let bytes = 0
  let chunks = 0
  for (const { text = '', image = '' } of documents) {
    const documentBytes = Buffer.byteLength(text)
    bytes += queryBytes + documentBytes + Buffer.byteLength(image)
    chunks += Math.max(1, Math.ceil(documentBytes / room))
  }
  return {
    ...computeRequestSize(prompt, {}, bytes),
    outputTokens: 0,
    prompts: documents.length,
    units: [countSearches(chunks)],
  }
}
