import { asObjects, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ImageEvent, ImageSource, ImagesCall } from '../call/images.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { computeSize, fitGeometry } from './geometry.ts'
import { decodeImage } from './openai.ts'
import type { ImageWireFormat } from './wire-format.ts'

/** The generations of OpenAI with width and height instead of a size, as hosts of diffusion models have them. */
export const pixelImages: ImageWireFormat = {
  name: 'pixel-images',
  defaults: { headers: {} },
  maxReferences: 1,
  takesMask: false,
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: ImagesCall, { model, options, image }: MediaTarget): MediaUpstreamRequest {
  const geometry = fitGeometry(call, image?.supported_parameters ?? {})
  const { size, resolution, aspectRatio } = 'field' in geometry ? call : geometry
  const isSized = size ?? resolution ?? aspectRatio
  const pixels = isSized === undefined ? undefined : (size ?? computeSize({ ...call, ...geometry }))
  const [reference] = call.references
  const body = {
    ...omitUndefined({
      model,
      prompt: call.prompt,
      n: call.n > 1 ? call.n : undefined,
      width: pixels?.width,
      height: pixels?.height,
      seed: call.seed,
      output_format: call.outputFormat,
      image_url: reference && toUrl(reference),
      response_format: 'base64',
    }),
    ...options,
  }
  return { path: '/images/generations', headers: {}, body, dropped: listDropped(call) }
}

function toUrl(source: ImageSource): string {
  return source.kind === 'url' ? source.url : `data:${source.mediaType};base64,${source.data}`
}

/** Lists dropped fields: the format has no name for these, and sends any that an endpoint declares. */
function listDropped({
  quality,
  background,
  outputCompression,
  partialImages,
  user,
  native,
  unknown,
}: ImagesCall): string[] {
  const fields = {
    quality,
    background,
    output_compression: outputCompression,
    partial_images: partialImages || undefined,
    user,
    ...native,
  }
  return [...Object.keys(omitUndefined(fields)), ...unknown]
}

function decodeReply(body: JsonObject): ImageEvent[] {
  return asObjects(body.data).flatMap((entry): ImageEvent[] => {
    const image = decodeImage(entry)
    return image ? [{ type: 'image', image }] : []
  })
}
