import {
  asObject,
  asObjects,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { VideoCall, VideoProgress } from '../call/video.ts'
import { decodeError } from '../gemini/error.ts'
import { parseDataUrl } from './decode.ts'
import { clipReason, type VideoWireFormat } from './wire-format.ts'

/** Google's predictLongRunning, its operations, and the files they name. */
export const geminiVideo: VideoWireFormat = {
  name: 'gemini-video',
  defaults: { keyHeader: 'x-goog-api-key', headers: {} },
  acceptsAudio: false,
  decodeError,

  encodeRequest(call, { model, options }) {
    return {
      path: `/models/${encodeURIComponent(model)}:predictLongRunning`,
      headers: {},
      body: { instances: [encodeInstance(call)], parameters: { ...options, ...encodeParameters(call) } },
      dropped: [
        ...(call.seed === null ? [] : ['seed']),
        ...(call.creativity === null ? [] : ['creativity']),
        ...(call.upscaleFactor === null ? [] : ['upscale_factor']),
      ],
    }
  },

  findProblem({ firstFrame, lastFrame, references }) {
    const problem = 'must be images as data URLs for the provider of this model'
    const isInline = (url: string | null) => url === null || parseDataUrl(url) !== null
    if (!isInline(firstFrame) || !isInline(lastFrame)) return { field: 'frame_images', problem }
    const areImages = references.every(({ kind, url }) => kind === 'image' && isInline(url))
    return areImages ? null : { field: 'input_references', problem }
  },

  decodeSubmission(body) {
    const name = asString(body.name) ?? ''
    return namePattern.test(name) ? name : null
  },

  buildPollPath(upstreamId) {
    return `/${upstreamId}`
  },

  decodeProgress(body) {
    if (asString(body.name) === undefined) return null
    const error = asObject(body.error)
    if (error) return { status: 'failed', message: clipReason(asString(error.message)) }
    return body.done === true ? decodeResult(body) : { status: 'in_progress', percent: null }
  },
}

/** Names that are safe as part of a path: they cannot leave it. */
const namePattern = /^(?:\w[\w.-]*\/){1,9}\w[\w.-]*$/

function encodeInstance({ prompt, firstFrame, lastFrame, references, previous }: VideoCall): JsonObject {
  const images = references.map(({ url }) => ({ image: encodeImage(url), referenceType: 'asset' }))
  return omitUndefined({
    prompt,
    image: encodeImage(firstFrame),
    lastFrame: encodeImage(lastFrame),
    referenceImages: images.length > 0 ? images : undefined,
    video: previous ? { uri: previous.url } : undefined,
  })
}

function encodeImage(url: string | null): JsonObject | undefined {
  const parsed = url === null ? null : parseDataUrl(url)
  return parsed ? { bytesBase64Encoded: parsed.data, mimeType: parsed.mediaType } : undefined
}

/** Encodes the parameters. The models always generate sound, and accept no parameter for it. */
function encodeParameters({ aspectRatio, resolution, duration }: VideoCall): JsonObject {
  return omitUndefined({
    aspectRatio: aspectRatio ?? undefined,
    resolution: resolution?.toLowerCase(),
    durationSeconds: duration ?? undefined,
  })
}

function decodeResult(body: JsonObject): VideoProgress {
  const result = asObject(asObject(body.response)?.generateVideoResponse) ?? {}
  const urls = asObjects(result.generatedSamples).flatMap(({ video }) => asString(asObject(video)?.uri) ?? [])
  if (urls.length > 0) return { status: 'completed', urls, seconds: null, tokens: null }
  const reasons = Array.isArray(result.raiMediaFilteredReasons) ? result.raiMediaFilteredReasons : []
  return { status: 'failed', message: clipReason(asString(reasons[0])) }
}
