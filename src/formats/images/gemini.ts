import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { UpstreamFailure } from '../call/failure.ts'
import type { ImageEvent, ImageSource, ImagesCall } from '../call/images.ts'
import type { Usage } from '../call/usage.ts'
import { decodeError } from '../gemini/error.ts'
import { decodeUsage } from '../gemini/usage.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { maxImageReferences } from '../vocabulary.ts'
import { fitGeometry } from './geometry.ts'
import type { ImageWireFormat } from './wire-format.ts'

/** generateContent of Gemini with an image as its only output. */
export const geminiImages: ImageWireFormat = {
  name: 'gemini-images',
  defaults: { headers: {}, keyHeader: 'x-goog-api-key' },
  maxReferences: maxImageReferences,
  takesMask: false,
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: ImagesCall, { model, options, image }: MediaTarget): MediaUpstreamRequest {
  const geometry = fitGeometry(call, image?.supported_parameters ?? {})
  const { resolution, aspectRatio } = 'field' in geometry ? call : geometry
  const imageConfig = omitUndefined({ aspectRatio, imageSize: resolution })
  const body = {
    contents: [{ role: 'user', parts: [{ text: call.prompt }, ...call.references.map(toPart)] }],
    generationConfig: omitUndefined({
      responseModalities: ['IMAGE'],
      imageConfig: Object.keys(imageConfig).length > 0 ? imageConfig : undefined,
      candidateCount: call.n > 1 ? call.n : undefined,
      seed: call.seed,
    }),
    ...options,
  }
  return { path: `/models/${model}:generateContent`, headers: {}, body, dropped: listDropped(call) }
}

function toPart(source: ImageSource): JsonObject {
  return source.kind === 'url'
    ? { fileData: { fileUri: source.url } }
    : { inlineData: { mimeType: source.mediaType, data: source.data } }
}

/** The model chooses the type of the file; its API has no field for it, nor for the others. */
function listDropped(call: ImagesCall): string[] {
  const { quality, background, user, native, unknown } = call
  const fields = {
    quality,
    background,
    output_format: call.outputFormat,
    output_compression: call.outputCompression,
    partial_images: call.partialImages || undefined,
    user,
    ...native,
  }
  return [...Object.keys(omitUndefined(fields)), ...unknown]
}

/** Images among the thoughts are drafts. */
function decodeReply(body: JsonObject): ImageEvent[] {
  const candidates = asObjects(body.candidates)
  const images = candidates.flatMap((candidate) =>
    asObjects(asObject(candidate.content)?.parts).flatMap((part): ImageEvent[] => {
      const data = asString(asObject(part.inlineData)?.data)
      const isImage = data !== undefined && part.thought !== true
      return isImage ? [{ type: 'image', image: { source: { kind: 'data', data } } }] : []
    }),
  )
  const refusal = images.length === 0 ? findRefusal(body, candidates) : undefined
  if (refusal) return [{ type: 'error', failure: refusal }]
  const usage = decodeImageUsage(asObject(body.usageMetadata) ?? {})
  return [...images, ...(usage ? [{ type: 'usage' as const, usage }] : [])]
}

/** All output is the image, unless the vendor says otherwise. */
function decodeImageUsage(counts: JsonObject): Usage | null {
  const usage = decodeUsage(counts, 0)
  if (!usage || Array.isArray(counts.candidatesTokensDetails)) return usage
  return { ...usage, outputImage: usage.output, output: 0 }
}

const policyReasons = /SAFETY|PROHIBITED|BLOCKLIST|RECITATION|SPII/

function findRefusal(body: JsonObject, candidates: JsonObject[]): UpstreamFailure | undefined {
  const blocked = asString(asObject(body.promptFeedback)?.blockReason)
  const code = blocked ?? candidates.map(({ finishReason }) => asString(finishReason)).find(Boolean)
  if (code === undefined || (blocked === undefined && !policyReasons.test(code))) return undefined
  const message = `The provider refused to generate the image (${code}).`
  return { kind: 'content_policy_violation', status: null, message, code }
}
