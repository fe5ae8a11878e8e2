import { z } from 'zod'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { asObject, asObjects, asString, type JsonObject } from '../../platform/json/json-values.ts'
import type { EmbeddingsReply } from '../call/embeddings.ts'
import { countPromptTokens } from '../call/usage.ts'
import { urlOf } from '../chat/parts-decode.ts'
import { type TranslatedBody, translateBody } from '../client-body.ts'
import { maxInputs } from '../embeddings/schema.ts'
import { maxDimensions } from '../embeddings/vector.ts'
import type { MediaReplyContext } from '../media.ts'
import { providerPreferences } from '../schema/preferences.ts'
import { listOf, readField, readObjectField, toCamelCase } from './field-names.ts'
import { decodeInlineMedia, decodeLinkedMedia } from './media.ts'
import { content, withSnakeCase } from './schema.ts'
import { encodeUsage } from './usage.ts'

const settings = {
  taskType: z.string().max(256).nullish(),
  title: z.string().nullish(),
  outputDimensionality: z.int().min(1).max(maxDimensions).nullish(),
  autoTruncate: z.boolean().nullish(),
}

const embedRequest = z.looseObject(withSnakeCase({ content, ...settings }))

/** The body of `embedContent`, in the vendor's API and in its cloud. */
export const embedContentBody = z
  .looseObject({
    ...withSnakeCase({
      content,
      ...settings,
      embedContentConfig: z.looseObject(withSnakeCase(settings)).nullish(),
    }),
    provider: providerPreferences.nullish(),
  })
  .meta({ id: 'GeminiEmbedContentRequest' })

export const batchEmbedContentsBody = z
  .looseObject({
    requests: z.array(embedRequest).min(1).max(maxInputs),
    provider: providerPreferences.nullish(),
  })
  .meta({ id: 'GeminiBatchEmbedContentsRequest' })

/** The body of `predict` in the vendor's cloud, for embedding models. */
export const predictEmbeddingsBody = z
  .looseObject({
    instances: z.array(embedRequest).min(1).max(maxInputs),
    parameters: z.looseObject(withSnakeCase(settings)).nullish(),
    provider: providerPreferences.nullish(),
  })
  .meta({ id: 'GeminiPredictRequest' })

/** One content, with its settings. */
interface EmbedRequest {
  fields: JsonObject
  /** The path in the body. */
  path: string
  /** Nested objects by name, to report their unknown fields. */
  members: Readonly<Record<string, JsonObject>>
}

export function translateEmbedContent(body: JsonObject): TranslatedBody {
  const config = readObjectField(body, 'embedContentConfig') ?? {}
  const request = { fields: { ...body, ...config }, path: '', members: { embedContentConfig: config } }
  return translateRequests(body, embedContentBody.shape, [request])
}

export function translateBatchEmbed(body: JsonObject): TranslatedBody {
  const requests = asObjects(body.requests).map((fields, index) => ({
    fields,
    path: `requests.${index}.`,
    members: { requests: fields },
  }))
  return translateRequests(body, batchEmbedContentsBody.shape, requests)
}

export function translatePredictEmbeddings(body: JsonObject): TranslatedBody {
  const shared = asObject(body.parameters) ?? {}
  const requests = asObjects(body.instances).map((fields, index) => ({
    fields: { ...shared, ...fields },
    path: `instances.${index}.`,
    members: { instances: fields, parameters: shared },
  }))
  return translateRequests(body, predictEmbeddingsBody.shape, requests)
}

/** Settings that a body of this API has no field for. */
const unsupportedSettings = ['title', 'autoTruncate'] as const

/** Translates into a body of `POST /embeddings`, which has one setting for all inputs. */
function translateRequests(
  body: JsonObject,
  known: Readonly<Record<string, unknown>>,
  requests: readonly EmbedRequest[],
): TranslatedBody {
  const translated = translateBody(body, known, {
    input: requests.map(translateContent),
    input_type: readShared(requests, 'taskType'),
    dimensions: readShared(requests, 'outputDimensionality'),
  })
  const unsupported = unsupportedSettings.filter((name) =>
    requests.some(({ fields }) => readField(fields, name) !== undefined),
  )
  const others = new Set(requests.flatMap(({ members }) => Object.entries(members).flatMap(listOthers)))
  return { ...translated, unknown: [...translated.unknown, ...unsupported, ...others] }
}

/** The model is that of the path. */
const requestFields: ReadonlySet<string> = new Set(['content', 'model', ...Object.keys(settings)])

function listOthers([place, fields]: [string, JsonObject]): string[] {
  const names = Object.keys(fields).map(toCamelCase)
  return names.filter((name) => !requestFields.has(name)).map((name) => `${place}.${name}`)
}

function readShared(requests: readonly EmbedRequest[], name: string): unknown {
  const [first, ...others] = requests
  const value = first && readField(first.fields, name)
  const different = others.find(({ fields }) => readField(fields, name) !== value)
  if (different) throw invalidFieldError(different.path + name, 'must be the same in all requests')
  return value
}

function translateContent({ fields, path }: EmbedRequest): unknown {
  const parts = asObjects(listOf(asObject(fields.content)?.parts))
  if (parts.length === 0) throw invalidFieldError(`${path}content.parts`, 'must not be empty')
  const translated = parts.map((part, index) => translatePart(part, `${path}content.parts.${index}`))
  const [only] = translated
  return translated.length === 1 && only?.type === 'text' ? only.text : { content: translated }
}

function translatePart(part: JsonObject, path: string): JsonObject {
  const text = asString(part.text)
  if (text) return { type: 'text', text }
  const media = readMedia(part)
  if (media?.kind === 'audio')
    return { type: 'input_audio', input_audio: { data: media.data, format: media.format } }
  const url = media?.kind === 'image' ? urlOf(media.source) : undefined
  if (url !== undefined) return { type: 'image_url', image_url: { url } }
  if (media?.source.kind !== 'data')
    throw invalidFieldError(path, 'must be a text that is not empty, inlineData, or the URL of an image')
  const { mediaType: format, data } = media.source
  const type = media.kind === 'video' ? 'input_video' : 'input_file'
  return { type, [type]: { data, format } }
}

function readMedia(part: JsonObject) {
  const inline = readObjectField(part, 'inlineData')
  if (inline) {
    const mediaType = asString(readField(inline, 'mimeType')) ?? 'application/octet-stream'
    return decodeInlineMedia(mediaType, asString(inline.data) ?? '')
  }
  const linked = readObjectField(part, 'fileData')
  const uri = linked && asString(readField(linked, 'fileUri'))
  return uri ? decodeLinkedMedia(uri, asString(readField(linked, 'mimeType'))) : undefined
}

interface EncodedText {
  contentType: string
  text: string[]
}

/** The reply of `embedContent`, as pieces of JSON text: the vectors are not parsed. */
export function encodeEmbedContent({ vectors }: EmbeddingsReply, context: MediaReplyContext): EncodedText {
  return joinText('{"embedding":{"values":', [vectors[0] ?? '[]'], '},', context)
}

export function encodeBatchEmbed({ vectors }: EmbeddingsReply, context: MediaReplyContext): EncodedText {
  const items = vectors.flatMap((vector, index) => [`${index === 0 ? '' : ','}{"values":`, vector, '}'])
  return joinText('{"embeddings":[', items, '],', context)
}

export function encodePredictEmbeddings(
  { vectors }: EmbeddingsReply,
  context: MediaReplyContext,
): EncodedText {
  // Providers count the tokens of all inputs together.
  const statistics =
    vectors.length === 1
      ? `,"statistics":{"token_count":${countPromptTokens(context.usage)},"truncated":false}`
      : ''
  const items = vectors.flatMap((vector, index) => [
    `${index === 0 ? '' : ','}{"embeddings":{"values":`,
    vector,
    `${statistics}}}`,
  ])
  return joinText('{"predictions":[', items, '],', context)
}

function joinText(
  head: string,
  items: readonly string[],
  tail: string,
  { model, id, usage, cost, metadata }: MediaReplyContext,
): EncodedText {
  const rest = {
    modelVersion: model,
    responseId: id,
    usageMetadata: encodeUsage(usage, cost),
    ...(metadata && { service_metadata: metadata }),
  }
  const text = [head, ...items, tail + JSON.stringify(rest).slice(1)]
  return { contentType: 'application/json;charset=utf-8', text }
}
