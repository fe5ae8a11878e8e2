import {
  asCount,
  asObject,
  asObjects,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import { type EmbeddingPart, partsOf } from '../call/embeddings.ts'
import { TokenPool, type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError } from '../gemini/error.ts'
import { encodeAudioFormat } from '../gemini/media.ts'
import { hasAnyCount } from '../token-counts.ts'
import { translateInputType } from './input-type.ts'
import { toUrl } from './openai.ts'
import { collectVectors, type DecodedEmbeddings, type EmbeddingsWireFormat } from './wire-format.ts'

const taskTypes = {
  query: 'RETRIEVAL_QUERY',
  document: 'RETRIEVAL_DOCUMENT',
  classification: 'CLASSIFICATION',
  clustering: 'CLUSTERING',
}

/** Google's `batchEmbedContents`. */
export const geminiEmbeddings: EmbeddingsWireFormat = {
  name: 'gemini-embeddings',
  defaults: { keyHeader: 'x-goog-api-key', headers: {} },
  accepts: ['text', 'image', 'audio', 'video', 'file'],
  encodeRequest: (call, { model }) => {
    const shared = omitUndefined({
      model: `models/${model}`,
      taskType: translateInputType(call.inputType, taskTypes),
      outputDimensionality: call.dimensions,
    })
    const requests = call.inputs.map((input) => ({
      ...shared,
      content: { parts: partsOf(input).map(encodePart) },
    }))
    return {
      path: `/models/${encodeURIComponent(model)}:batchEmbedContents`,
      headers: {},
      body: { requests },
      dropped: [...Object.keys(call.extra), ...(call.user === undefined ? [] : ['user'])],
    }
  },
  decodeReply,
  decodeError,
}

function encodePart(part: EmbeddingPart): JsonObject {
  if (part.kind === 'text') return { text: part.text }
  if (part.kind === 'audio')
    return { inlineData: { mimeType: encodeAudioFormat(part.format), data: part.data } }
  const { source } = part
  return source.kind === 'data'
    ? { inlineData: { mimeType: source.mediaType, data: source.data } }
    : { fileData: { fileUri: toUrl(source) } }
}

/** `{embeddings: [{values}], usageMetadata}`; older models report no usage. */
function decodeReply(body: JsonObject): DecodedEmbeddings | null {
  if (!Array.isArray(body.embeddings)) return null
  const vectors = collectVectors(asObjects(body.embeddings).map(({ values }) => values))
  return vectors && { vectors, usage: decodeUsage(asObject(body.usageMetadata)), units: [] }
}

const buckets: Readonly<Record<string, 'inputImage' | 'inputAudio' | 'inputVideo'>> = {
  IMAGE: 'inputImage',
  AUDIO: 'inputAudio',
  VIDEO: 'inputVideo',
}

function decodeUsage(metadata: JsonObject | undefined): Usage | null {
  if (!metadata || !hasAnyCount(metadata, ['promptTokenCount'])) return null
  const pool = new TokenPool(asCount(metadata.promptTokenCount))
  const usage = { ...zeroUsage }
  const details = metadata.promptTokensDetails ?? metadata.promptTokenDetails
  for (const { modality, tokenCount } of asObjects(details)) {
    const bucket = buckets[String(modality)]
    if (bucket) usage[bucket] += pool.take(asCount(tokenCount))
  }
  return { ...usage, input: pool.remaining }
}
