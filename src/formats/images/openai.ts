import type { FormField } from '../../platform/http/form-encode.ts'
import {
  asCount,
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { ImageEvent, ImageSource, ImagesCall, ReceivedImage } from '../call/images.ts'
import { subtractParts, type Usage, zeroUsage } from '../call/usage.ts'
import { decodeError, decodeFailure } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { maxImageReferences } from '../vocabulary.ts'
import { fitGeometry, formatSize } from './geometry.ts'
import type { ImageWireFormat } from './wire-format.ts'

/** The Images API of OpenAI: generations as JSON, edits of references as a form. */
export const images: ImageWireFormat = {
  name: 'images',
  defaults: { headers: {} },
  maxReferences: maxImageReferences,
  takesMask: true,
  encodeRequest,
  decodeReply,
  decodeFrame,
  decodeError,
}

function encodeRequest(call: ImagesCall, target: MediaTarget): MediaUpstreamRequest {
  const fields = encodeFields(call, target)
  const dropped = [...call.unknown]
  if (call.partialImages && !isStreamed(call, target)) dropped.push('partial_images')
  const isEdit = call.references.length > 0
  if (!isEdit) {
    const { input_fidelity, ...rest } = fields
    if (input_fidelity !== undefined) dropped.push('input_fidelity')
    return { path: '/images/generations', headers: {}, body: rest, dropped }
  }
  return { path: '/images/edits', headers: {}, body: encodeEdit(call, fields), dropped }
}

function encodeFields(call: ImagesCall, target: MediaTarget): JsonObject {
  const { model, options, image } = target
  const geometry = fitGeometry(call, image?.supported_parameters ?? {})
  const { size, resolution, aspectRatio } = 'field' in geometry ? call : geometry
  const isStream = isStreamed(call, target)
  return {
    ...call.native,
    ...omitUndefined({
      model,
      prompt: call.prompt,
      n: call.n > 1 ? call.n : undefined,
      size: size && formatSize(size),
      // These and `seed` are not in OpenAI's own API, but under these names in those that follow it.
      resolution,
      aspect_ratio: aspectRatio,
      quality: call.quality,
      background: call.background,
      output_format: call.outputFormat,
      output_compression: call.outputCompression,
      seed: call.seed,
      user: call.user,
      stream: isStream || undefined,
      partial_images: isStream ? call.partialImages : undefined,
    }),
    ...options,
  }
}

/** A stream of several images reports the usage of each alone, and not in all formats. */
function isStreamed({ stream, n }: ImagesCall, { image }: MediaTarget): boolean {
  return stream && n === 1 && image?.supports_streaming === true
}

function encodeEdit({ references, mask }: ImagesCall, fields: JsonObject): FormField[] {
  const name = references.length > 1 ? 'image[]' : 'image'
  return [
    ...Object.entries(fields).map(([field, value]) => ({
      name: field,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
    ...references.map((source, index) => toFile(name, `image-${index + 1}`, source)),
    ...(mask ? [toFile('mask', 'mask', mask)] : []),
  ]
}

function toFile(name: string, title: string, source: ImageSource): FormField {
  if (source.kind === 'url') throw new Error('references are downloaded before a request is encoded')
  const extension = source.mediaType.replace(/^image\//, '').replace(/\+.*$/, '')
  const bytes = Buffer.from(source.data, 'base64')
  return { name, filename: `${title}.${extension}`, contentType: source.mediaType, bytes }
}

/** Vendors that follow the format send a URL or base64, whichever they prefer. */
function decodeReply(body: JsonObject): ImageEvent[] {
  const received = asObjects(body.data).flatMap((entry) => decodeImage(entry) ?? [])
  if (received.length === 0 && body.error !== undefined)
    return [{ type: 'error', failure: decodeFailure(body.error, null) }]
  return [...received.map((image): ImageEvent => ({ type: 'image', image })), ...decodeDetails(body)]
}

export function decodeImage(entry: JsonObject): ReceivedImage | undefined {
  const data = asString(entry.b64_json)
  const url = asString(entry.url)
  const revisedPrompt = asString(entry.revised_prompt)
  const rest = revisedPrompt === undefined ? {} : { revisedPrompt }
  if (data) return { source: { kind: 'data', data: stripDataUrl(data) }, ...rest }
  if (!url) return undefined
  const isInline = url.startsWith('data:')
  return { source: isInline ? { kind: 'data', data: stripDataUrl(url) } : { kind: 'url', url }, ...rest }
}

function stripDataUrl(text: string): string {
  return text.startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text
}

function decodeFrame(frame: JsonObject): ImageEvent[] {
  const type = asString(frame.type) ?? ''
  if (frame.error !== undefined || type === 'error')
    return [{ type: 'error', failure: decodeFailure(frame.error ?? frame, null) }]
  const data = asString(frame.b64_json)
  if (data === undefined) return []
  if (type.endsWith('.partial_image'))
    return [{ type: 'partial-image', index: asCount(frame.partial_image_index), data }]
  if (!type.endsWith('.completed')) return []
  return [{ type: 'image', image: { source: { kind: 'data', data } } }, ...decodeDetails(frame)]
}

function decodeDetails({ usage, quality }: JsonObject): ImageEvent[] {
  const counts = asObject(usage)
  const text = asString(quality)
  return [
    ...(counts ? [{ type: 'usage' as const, usage: decodeUsage(counts) }] : []),
    ...(text && text !== 'auto' ? [{ type: 'quality' as const, quality: text }] : []),
  ]
}

/** All output is the image, unless the vendor says otherwise. */
function decodeUsage(counts: JsonObject): Usage {
  const input = asCount(counts.input_tokens)
  const output = asCount(counts.output_tokens)
  const inputDetails = asObject(counts.input_tokens_details) ?? {}
  const outputDetails = asObject(counts.output_tokens_details)
  const cached = Math.min(asCount(inputDetails.cached_tokens), input)
  const inputImage = Math.min(asCount(inputDetails.image_tokens), input - cached)
  const outputText = Math.min(asCount(outputDetails?.text_tokens), output)
  return {
    ...zeroUsage,
    cacheRead: cached,
    inputImage,
    input: subtractParts(input, cached, inputImage),
    output: outputText,
    outputImage: output - outputText,
  }
}
