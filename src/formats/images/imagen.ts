import { asObjects, asString, type JsonObject, omitUndefined } from '../../platform/json/json-values.ts'
import type { ImageEvent, ImagesCall } from '../call/images.ts'
import { decodeError } from '../gemini/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { fitGeometry } from './geometry.ts'
import type { ImageWireFormat } from './wire-format.ts'

/** The predict method of Imagen models. */
export const imagen: ImageWireFormat = {
  name: 'imagen',
  defaults: { headers: {}, keyHeader: 'x-goog-api-key' },
  maxReferences: 0,
  takesMask: false,
  encodeRequest,
  decodeReply,
  decodeError,
}

function encodeRequest(call: ImagesCall, { model, options, image }: MediaTarget): MediaUpstreamRequest {
  const geometry = fitGeometry(call, image?.supported_parameters ?? {})
  const { resolution, aspectRatio } = 'field' in geometry ? call : geometry
  const { outputFormat, outputCompression } = call
  const output = omitUndefined({
    mimeType: outputFormat && `image/${outputFormat}`,
    compressionQuality: outputCompression,
  })
  const parameters = {
    ...omitUndefined({
      sampleCount: call.n,
      aspectRatio,
      sampleImageSize: resolution,
      seed: call.seed,
      // A watermark makes the images of a seed differ, and the API rejects both together.
      addWatermark: call.seed === undefined ? undefined : false,
      outputOptions: Object.keys(output).length > 0 ? output : undefined,
    }),
    ...options,
  }
  const { quality, background, user, native, unknown } = call
  const partial_images = call.partialImages || undefined
  return {
    path: `/models/${model}:predict`,
    headers: {},
    body: { instances: [{ prompt: call.prompt }], parameters },
    dropped: [
      ...Object.keys(omitUndefined({ quality, background, partial_images, user, ...native })),
      ...unknown,
    ],
  }
}

/** A prediction without an image says why it was filtered. */
function decodeReply(body: JsonObject): ImageEvent[] {
  const predictions = asObjects(body.predictions)
  const images = predictions.flatMap((prediction): ImageEvent[] => {
    const data = asString(prediction.bytesBase64Encoded)
    return data === undefined ? [] : [{ type: 'image', image: { source: { kind: 'data', data } } }]
  })
  const reason = predictions.map(({ raiFilteredReason }) => asString(raiFilteredReason)).find(Boolean)
  if (images.length > 0 || reason === undefined) return images
  return [{ type: 'error', failure: { kind: 'content_policy_violation', status: null, message: reason } }]
}
