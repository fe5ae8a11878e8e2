import type { Model } from '../../catalog/model.ts'
import { invalidFieldError } from '../../platform/errors/gateway-error.ts'
import type { ModelCall } from '../call/call.ts'
import type { InputPart, MediaSource } from '../call/part.ts'
import type { RequestSize } from '../call/size.ts'
import { completeVideoCall, listVideoUnits, type VideoCall, type VideoReference } from '../call/video.ts'
import { hasOverriddenReferences, type VideoRequestBody } from './schema.ts'

/** The request as a call; `previous` is found by the caller. */
export function decodeVideoRequest(body: VideoRequestBody): VideoCall {
  rejectAmbiguity(body)
  const call: VideoCall = {
    prompt: body.prompt ?? '',
    duration: body.duration ?? (body.seconds === undefined ? null : Number(body.seconds)),
    resolution: body.resolution ?? null,
    aspectRatio: body.aspect_ratio ?? null,
    size: body.size ?? null,
    audio: body.generate_audio ?? null,
    seed: body.seed ?? null,
    creativity: body.creativity ?? null,
    upscaleFactor: body.upscale_factor ?? null,
    firstFrame: decodeInputReference(body) ?? findFrame(body, 'first_frame'),
    lastFrame: findFrame(body, 'last_frame'),
    references: hasOverriddenReferences(body) ? [] : (body.input_references ?? []).map(decodeReference),
    previous: null,
  }
  const hasPicture = call.firstFrame !== null || call.lastFrame !== null || call.references.length > 0
  if (call.prompt.trim() === '' && !hasPicture)
    throw invalidFieldError('prompt', 'is required, unless there is a frame image or an input reference')
  return call
}

/** Fields that say the same thing twice. */
function rejectAmbiguity(body: VideoRequestBody): void {
  const { frame_images = [] } = body
  if (body.duration !== undefined && body.seconds !== undefined)
    throw invalidFieldError('seconds', 'cannot be combined with duration')
  if (body.size !== undefined && (body.resolution !== undefined || body.aspect_ratio !== undefined))
    throw invalidFieldError('size', 'cannot be combined with resolution or aspect_ratio')
  if (frame_images.length > 0 && body.input_reference !== undefined)
    throw invalidFieldError('input_reference', 'cannot be combined with frame_images')
  if (new Set(frame_images.map(({ frame_type }) => frame_type)).size < frame_images.length)
    throw invalidFieldError('frame_images', 'must have each frame_type once')
}

function findFrame({ frame_images = [] }: VideoRequestBody, type: string): string | null {
  return frame_images.find(({ frame_type }) => frame_type === type)?.image_url.url ?? null
}

function decodeInputReference({ input_reference: reference }: VideoRequestBody): string | null {
  if (reference === undefined) return null
  return typeof reference === 'string' ? reference : reference.image_url
}

function decodeReference(
  reference: NonNullable<VideoRequestBody['input_references']>[number],
): VideoReference {
  if (reference.type === 'image_url') return { kind: 'image', url: reference.image_url.url }
  if (reference.type === 'audio_url') return { kind: 'audio', url: reference.audio_url.url }
  return { kind: 'video', url: reference.video_url.url }
}

/** The prompt as guardrails and routing see it. */
export function toVideoPrompt({ prompt, firstFrame, lastFrame, references }: VideoCall): ModelCall {
  const pictures = [firstFrame, lastFrame].filter((url) => url !== null)
  const parts: InputPart[] = [
    { kind: 'text', text: prompt },
    ...pictures.map((url): InputPart => ({ kind: 'image', source: toMediaSource(url) })),
    ...references.flatMap(({ kind, url }): InputPart[] =>
      kind === 'audio' ? [] : [{ kind, source: toMediaSource(url) }],
    ),
  ]
  return { messages: [{ role: 'user', parts }], stream: false, unknown: [] }
}

/** Splits a data URL. */
export function parseDataUrl(url: string): { mediaType: string; data: string } | null {
  const [, mediaType, data] = /^data:([^;,]{1,100})(?:;[^,]{0,200})?;base64,(.*)$/is.exec(url) ?? []
  return mediaType && data ? { mediaType, data } : null
}

function toMediaSource(url: string): MediaSource {
  const parsed = parseDataUrl(url)
  return parsed ? { kind: 'data', ...parsed } : { kind: 'url', url }
}

/** Assumed where neither the request nor the model says how long a video is. */
const unknownSeconds = 60

/**
 * The most that an endpoint of the model can bill. An endpoint chooses what the client leaves open, so the longest and
 * the most expensive choice count.
 */
export function measureVideo(call: VideoCall, model: Model | undefined): RequestSize {
  const completed = model?.endpoints.map(({ video }) => completeVideoCall(call, video)) ?? []
  const seconds = Math.max(...completed.map(({ duration }) => duration ?? unknownSeconds), call.duration ?? 1)
  const [first = call, ...others] = completed
  const isSame = others.every(
    ({ resolution, audio }) => resolution === first.resolution && audio === first.audio,
  )
  const sizes = completed.map(({ size }) => size)
  return {
    promptTokens: Buffer.byteLength(call.prompt),
    outputTokens: 0,
    choices: 1,
    images: 0,
    hasAudio: false,
    hasLongCache: false,
    webSearches: 0,
    // Without a variant, the highest price counts.
    units: listVideoUnits(
      isSame ? { ...first, size: sizes[0] ?? null } : { resolution: null, audio: null, size: null },
      seconds,
    ),
  }
}
