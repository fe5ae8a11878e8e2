import type { Endpoint, VideoCapabilities } from '../../catalog/model.ts'
import { completeVideoCall, type VideoCall } from '../../formats/call/video.ts'
import { listVideoWireFormats } from '../../formats/video/all.ts'
import type { VideoWireFormat } from '../../formats/video/wire-format.ts'
import type { FieldProblem } from '../media/task.ts'

/**
 * Finds the reason why an endpoint cannot make a video; null if it can. The provider checks what the endpoint does not
 * declare.
 */
export function findVideoProblem(call: VideoCall, endpoint: Endpoint): FieldProblem | null {
  const video = endpoint.video ?? noCapabilities
  return (
    findFormatProblem(call, video) ??
    findFrameProblem(call, video) ??
    findSwitchProblem(call, video) ??
    findUpscaleProblem(call, video) ??
    findPriceProblem(call, endpoint) ??
    findWireFormatProblem(call, endpoint)
  )
}

const noCapabilities: VideoCapabilities = { allowed_passthrough_parameters: [] }

function findFormatProblem(call: VideoCall, video: VideoCapabilities): FieldProblem | null {
  const completed = completeVideoCall(call, video)
  // A size that the endpoint does not list may still be a resolution and an aspect ratio that it does.
  const hasSize = call.size !== null && !video.supported_sizes?.includes(call.size)
  const isComposed = video.supported_resolutions && video.supported_aspect_ratios && !video.supported_sizes
  if (hasSize && video.supported_sizes) return notIn('size', video.supported_sizes)
  const isChecked = call.size === null || isComposed
  return (
    checkIn('duration', call.duration, video.supported_durations) ??
    (isChecked ? checkIn('resolution', completed.resolution, video.supported_resolutions) : null) ??
    (isChecked ? checkIn('aspect_ratio', completed.aspectRatio, video.supported_aspect_ratios) : null) ??
    checkIn('creativity', call.creativity, video.creativity)
  )
}

function findFrameProblem(call: VideoCall, video: VideoCapabilities): FieldProblem | null {
  const { supported_frame_images: supported } = video
  if (supported === undefined) return null
  for (const [type, url] of [
    ['first_frame', call.firstFrame],
    ['last_frame', call.lastFrame],
  ] as const) {
    if (url === null || supported?.includes(type)) continue
    if (!supported?.length) return { field: 'frame_images', problem: 'is not supported by this model' }
    return { field: 'frame_images', problem: `must have the frame_type ${supported.join(' or ')}` }
  }
  return null
}

function findSwitchProblem(call: VideoCall, video: VideoCapabilities): FieldProblem | null {
  if (call.audio === true && video.generate_audio === false)
    return { field: 'generate_audio', problem: 'must be false: this model generates no sound' }
  if (call.seed !== null && video.seed === false)
    return { field: 'seed', problem: 'is not supported by this model' }
  return null
}

function findUpscaleProblem(call: VideoCall, video: VideoCapabilities): FieldProblem | null {
  const { upscaleFactor: factor, creativity } = call
  if (creativity !== null && !video.creativity)
    return { field: 'creativity', problem: 'is not supported by this model' }
  if (factor === null) return null
  if (!video.upscale_factor) return { field: 'upscale_factor', problem: 'is not supported by this model' }
  const { min, max } = video.upscale_factor
  if (factor >= (min ?? 0) && factor <= (max ?? Number.POSITIVE_INFINITY)) return null
  return { field: 'upscale_factor', problem: `must be from ${min ?? 0} to ${max ?? 'any number'}` }
}

/** A price by the second needs a duration that is known when the job ends. */
function findPriceProblem(call: VideoCall, { pricing, video }: Endpoint): FieldProblem | null {
  const isBySecond = pricing?.units?.some(({ unit }) => unit === 'second')
  if (!isBySecond || completeVideoCall(call, video).duration !== null) return null
  return { field: 'duration', problem: 'is required, because this model is billed by the second' }
}

function findWireFormatProblem(call: VideoCall, endpoint: Endpoint): FieldProblem | null {
  const wireFormat = findVideoWireFormat(endpoint)
  if (!wireFormat) return null
  const canBeMuted = wireFormat.acceptsAudio || endpoint.video?.generate_audio !== true
  if (call.audio === false && !canBeMuted)
    return { field: 'generate_audio', problem: 'must be true: this model always generates sound' }
  return wireFormat.findProblem?.(call) ?? null
}

/** The first of an endpoint's wire formats that is a format of video jobs. */
export function findVideoWireFormat({ wireFormats, provider }: Endpoint): VideoWireFormat | undefined {
  const known = listVideoWireFormats(provider)
  for (const name of wireFormats) if (known[name]) return known[name]
  return undefined
}

function checkIn<T extends string | number>(
  field: string,
  value: T | null,
  supported: readonly T[] | null | undefined,
): FieldProblem | null {
  return value === null || !supported || supported.includes(value) ? null : notIn(field, supported)
}

function notIn(field: string, supported: readonly (string | number)[]): FieldProblem {
  return { field, problem: `must be ${supported.length > 1 ? 'one of ' : ''}${supported.join(', ')}` }
}
