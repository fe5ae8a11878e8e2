import {
  asNumber,
  asObject,
  asString,
  type JsonObject,
  omitUndefined,
} from '../../platform/json/json-values.ts'
import type { VideoCall, VideoProgress } from '../call/video.ts'
import { decodeError } from '../chat/error.ts'
import type { MediaTarget, MediaUpstreamRequest } from '../media.ts'
import { clipReason, type VideoWireFormat } from './wire-format.ts'

/** OpenAI's videos API. */
export const openaiVideo: VideoWireFormat = {
  name: 'video',
  defaults: { headers: {} },
  acceptsAudio: false,
  decodeError,

  encodeRequest(call, target) {
    return call.previous ? encodeRemix(call, target) : encodeCreation(call, target)
  },

  findProblem({ previous, prompt }) {
    if (previous || prompt !== '') return null
    return { field: 'prompt', problem: 'is required by the provider of this model' }
  },

  decodeSubmission(body) {
    return asString(body.id) || null
  },

  buildPollPath(upstreamId) {
    return `/videos/${encodeURIComponent(upstreamId)}`
  },

  decodeProgress(body, upstreamId) {
    const status = asString(body.status)
    if (status === 'completed') return decodeCompleted(body, upstreamId)
    if (status === 'failed' || status === 'cancelled' || status === 'expired')
      return { status, message: clipReason(asString(asObject(body.error)?.message)) }
    const percent = asNumber(body.progress) ?? null
    if (status === 'queued') return { status: 'pending', percent }
    return status === 'in_progress' ? { status, percent } : null
  },
}

function encodeCreation(call: VideoCall, { model, options }: MediaTarget): MediaUpstreamRequest {
  const { duration, size, firstFrame } = call
  return {
    path: '/videos',
    headers: {},
    body: omitUndefined({
      ...options,
      model,
      prompt: call.prompt,
      seconds: duration === null ? undefined : String(duration),
      size: size ?? undefined,
      input_reference: firstFrame === null ? undefined : { image_url: firstFrame },
    }),
    dropped: listDropped(call),
  }
}

/** A remix has the length and size of the video it changes. */
function encodeRemix(call: VideoCall, { options }: MediaTarget): MediaUpstreamRequest {
  return {
    path: `/videos/${encodeURIComponent(call.previous?.upstreamId ?? '')}/remix`,
    headers: {},
    body: { ...options, prompt: call.prompt },
    dropped: listDropped(call).concat(call.firstFrame === null ? [] : ['frame_images']),
  }
}

function listDropped({ seed, lastFrame, references, creativity, upscaleFactor }: VideoCall): string[] {
  return [
    ...(seed === null ? [] : ['seed']),
    ...(lastFrame === null ? [] : ['frame_images.last_frame']),
    ...(references.length === 0 ? [] : ['input_references']),
    ...(creativity === null ? [] : ['creativity']),
    ...(upscaleFactor === null ? [] : ['upscale_factor']),
  ]
}

function decodeCompleted(body: JsonObject, upstreamId: string): VideoProgress {
  const seconds = Number(asString(body.seconds) ?? asNumber(body.seconds))
  return {
    status: 'completed',
    urls: [`/videos/${encodeURIComponent(upstreamId)}/content`],
    seconds: seconds > 0 ? seconds : null,
    tokens: null,
  }
}
