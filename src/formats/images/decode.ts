import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import { type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import { readBase64Image } from '../../platform/media/base64-image.ts'
import type { ModelCall } from '../call/call.ts'
import type { ImageSource, ImagesCall } from '../call/images.ts'
import type { RequestSize } from '../call/size.ts'
import type { OpaqueKind } from '../call/texts.ts'
import { formatSize, type Geometry, hasRatio, parseSize, tierOf } from './geometry.ts'
import { type ImageOptions, type ImageRequest, imageOptionFields } from './schema.ts'
import { computeImagesSize } from './units.ts'

export interface DecodedImagesRequest {
  body: JsonObject
  call: ImagesCall
  prompt: ModelCall
  opaque: OpaqueKind[]
  size: RequestSize
}

/** Images that came with a request, each with the field that it came in. */
export interface AttachedImages {
  references: { field: string; source: ImageSource }[]
  mask?: ImageSource
}

/** Decodes a JSON body, with references to images. `body` has passed its schema. */
export function decodeImageBody(body: JsonObject): DecodedImagesRequest {
  return decodeImagesRequest(body, { references: decodeReferences(body as ImageRequest) })
}

/** The images that a JSON body refers to. */
function decodeReferences({ input_references }: ImageRequest): AttachedImages['references'] {
  return (input_references ?? []).map(({ image_url }, index) => {
    const field = `input_references.${index}.image_url.url`
    return { field, source: parseImageUrl(image_url.url, field) }
  })
}

function parseImageUrl(url: string, field: string): ImageSource {
  if (/^https?:\/\//i.test(url)) return { kind: 'url', url }
  const [head, mediaType] = /^data:([\w.+/-]{1,100});base64,/.exec(url.slice(0, 200)) ?? []
  if (head === undefined || mediaType === undefined)
    throw invalidFieldError(field, 'must be an https URL, or a data URL in base64')
  return { kind: 'data', mediaType, data: url.slice(head.length) }
}

/** `body` has passed its schema. */
export function decodeImagesRequest(
  valid: JsonObject,
  { references, mask }: AttachedImages,
): DecodedImagesRequest {
  const body = valid as ImageOptions
  const pixels = references.map(({ field, source }) => countPixels(source, field))
  if (mask) {
    if (references.length === 0) throw invalidFieldError('mask', 'requires an image')
    pixels.push(countPixels(mask, 'mask'))
  }
  const call: ImagesCall = {
    prompt: body.prompt,
    n: body.n ?? 1,
    ...decodeGeometry(body),
    ...decodeOutput(body),
    references: references.map(({ source }) => source),
    ...(mask && { mask }),
    stream: body.stream === true,
    ...decodeNative(body),
  }
  return {
    body,
    call,
    prompt: buildPrompt(call),
    opaque: mask ? ['image'] : [],
    size: computeImagesSize(call, pixels),
  }
}

/** Null if the image has yet to be downloaded. */
function countPixels(source: ImageSource, field: string): number | null {
  if (source.kind === 'url') return null
  const info = readBase64Image(source.data)
  if (!info) throw invalidFieldError(field, 'must be an image: PNG, JPEG, WebP, GIF or SVG')
  return info.size ? info.size.width * info.size.height : 0
}

/** A size in pixels wins, and must agree with the other two. */
function decodeGeometry(body: ImageOptions): Geometry {
  const text = withoutAuto(body.size)
  const aspectRatio = withoutAuto(body.aspect_ratio)
  const size = text === undefined ? null : parseSize(text)
  const tier = size ? undefined : text
  const resolution = body.resolution ?? tier
  if (tier !== undefined && tier !== resolution)
    throw invalidFieldError('size', `is ${tier}, but resolution is ${resolution}; send one of them`)
  if (!size) return omitUndefined({ resolution, aspectRatio })
  if (resolution !== undefined && tierOf(size) !== resolution)
    throw invalidFieldError('size', `is ${formatSize(size)}, which is not a resolution of ${resolution}`)
  if (aspectRatio !== undefined && !hasRatio(size, aspectRatio))
    throw invalidFieldError('size', `is ${formatSize(size)}, which is not an aspect_ratio of ${aspectRatio}`)
  return { size }
}

/** Formats without transparency. */
const opaqueFormats = new Set(['jpeg', 'gif', 'svg'])

function decodeOutput(body: ImageOptions): Partial<ImagesCall> {
  const { output_format, output_compression, seed } = body
  const background = withoutAuto(body.background)
  if (background === 'transparent' && output_format && opaqueFormats.has(output_format))
    throw invalidFieldError('background', 'can be transparent only with output_format png or webp')
  return omitUndefined({
    quality: withoutAuto(body.quality),
    background,
    outputFormat: output_format ?? undefined,
    outputCompression: output_compression ?? undefined,
    seed: seed ?? undefined,
    partialImages: body.partial_images ?? undefined,
    user: body.user ?? undefined,
  })
}

/** `auto` leaves the choice to the model, as the absence of a field does. */
function withoutAuto<T extends string>(value: T | null | undefined): Exclude<T, 'auto'> | undefined {
  return value == null || value === 'auto' ? undefined : (value as Exclude<T, 'auto'>)
}

/** Fields of the OpenAI format that others have no equivalent of. */
const nativeFields = new Set(['style', 'moderation', 'input_fidelity', 'safety_identifier'])
const knownFields = new Set([
  'trace',
  ...Object.keys(imageOptionFields),
  'model',
  'prompt',
  'input_references',
  'provider',
])

function decodeNative(body: ImageOptions): Pick<ImagesCall, 'native' | 'unknown'> {
  const native: JsonObject = {}
  const unknown: string[] = []
  for (const [name, value] of Object.entries(body)) {
    if (knownFields.has(name) || value === null || value === undefined) continue
    if (nativeFields.has(name)) native[name] = value
    else unknown.push(name)
  }
  return { native, unknown }
}

/** Builds a prompt for routing, estimates and the content log. */
function buildPrompt({ prompt, references, stream }: ImagesCall): ModelCall {
  const images = references.map((source) => ({ kind: 'image' as const, source }))
  return {
    messages: [{ role: 'user', parts: [{ kind: 'text', text: prompt }, ...images] }],
    stream,
    unknown: [],
  }
}
