import type { VideoCapabilities } from '../../catalog/model.ts'
import type { BilledUnits, BillingUnit } from './units.ts'

export type VideoResolution = NonNullable<NonNullable<VideoCapabilities['supported_resolutions']>[number]>

export interface VideoReference {
  kind: 'image' | 'audio' | 'video'
  /** A URL or a data URL. */
  url: string
}

/** A request for a video. Null: the provider decides. */
export interface VideoCall {
  prompt: string
  /** Seconds. */
  duration: number | null
  resolution: VideoResolution | null
  /** `16:9` */
  aspectRatio: string | null
  /** `1280x720` */
  size: string | null
  audio: boolean | null
  seed: number | null
  creativity: number | null
  upscaleFactor: number | null
  firstFrame: string | null
  lastFrame: string | null
  references: readonly VideoReference[]
  /** A completed video of the same endpoint to continue or edit. */
  previous: { upstreamId: string; url: string } | null
}

export type VideoEnd = 'completed' | 'failed' | 'cancelled' | 'expired'

/** The progress of a job as the provider reports it. */
export type VideoProgress =
  | { status: 'pending' | 'in_progress'; percent: number | null }
  | {
      status: 'completed'
      /** URLs, or paths after the base URL. */
      urls: readonly string[]
      /** Seconds of all videos together; null if they are not reported. */
      seconds: number | null
      tokens: number | null
    }
  | { status: Exclude<VideoEnd, 'completed'>; message: string }

/** The shorter side of a picture; 1K, 2K and 4K by their usual sizes. */
const lines = {
  '360p': 360,
  '480p': 480,
  '720p': 720,
  '768p': 768,
  '1080p': 1080,
  '1K': 1024,
  '2K': 1440,
  '4K': 2160,
} as const satisfies Record<VideoResolution, number>

/** Resolutions in the order of their lines, without those that mean the same. */
const namedLines = ['360p', '480p', '720p', '768p', '1080p', '2K', '4K'] as const

export interface PictureSize {
  width: number
  height: number
}

export function parseSize(size: string): PictureSize | null {
  const [, width, height] = /^(\d{2,5})x(\d{2,5})$/.exec(size) ?? []
  return width && height ? { width: Number(width), height: Number(height) } : null
}

/** The resolution of a size: the smallest that has its lines. */
export function resolutionOf({ width, height }: PictureSize): VideoResolution {
  const shorter = Math.min(width, height)
  return namedLines.find((name) => lines[name] >= shorter) ?? '4K'
}

/** The size of a resolution and an aspect ratio, in even numbers. */
export function sizeOf(resolution: VideoResolution, aspectRatio: string): PictureSize {
  const [across = 16, down = 9] = aspectRatio.split(':').map(Number)
  const side = lines[resolution]
  const longer = 2 * Math.round((side * Math.max(across, down)) / Math.min(across, down) / 2)
  return across >= down ? { width: longer, height: side } : { width: side, height: longer }
}

function ratioOf({ width, height }: PictureSize): number {
  return width / height
}

/** The ratio among the names that is closest to a size. */
function nameRatio(size: PictureSize, names: readonly string[]): string | null {
  const distance = (name: string) => {
    const [across = 1, down = 1] = name.split(':').map(Number)
    return Math.abs(Math.log(across / down / ratioOf(size)))
  }
  return names.toSorted((a, b) => distance(a) - distance(b))[0] ?? null
}

const commonRatios = ['16:9', '9:16', '1:1', '4:3', '3:4', '3:2', '2:3', '21:9', '9:21']

/**
 * A call with everything that its price depends on: what the client leaves open is the endpoint's first choice, and is
 * sent. A size and the pair of resolution and aspect ratio each determine the other.
 */
export function completeVideoCall(call: VideoCall, video: VideoCapabilities | null): VideoCall {
  const sent = call.size === null ? null : parseSize(call.size)
  const resolution =
    call.resolution ?? (sent && resolutionOf(sent)) ?? video?.supported_resolutions?.[0] ?? null
  const aspectRatio =
    call.aspectRatio ?? (sent && nameRatio(sent, commonRatios)) ?? video?.supported_aspect_ratios?.[0] ?? null
  const computed = resolution && aspectRatio ? sizeOf(resolution, aspectRatio) : null
  return {
    ...call,
    duration: call.duration ?? video?.supported_durations?.[0] ?? null,
    resolution,
    aspectRatio,
    size:
      call.size ??
      (computed && `${computed.width}x${computed.height}`) ??
      video?.supported_sizes?.[0] ??
      null,
    audio: call.audio ?? video?.generate_audio ?? null,
  }
}

/** More than any video has: the bound of a price by the token, which a provider may not report. */
const framesPerSecond = 30
const pixelsPerToken = 1024

/** Lists the units billed for a video, or at most. `tokens` is the provider's count. */
export function listVideoUnits(
  { resolution, size, audio }: Pick<VideoCall, 'resolution' | 'size' | 'audio'>,
  seconds: number,
  { videos = 1, tokens = null }: { videos?: number; tokens?: number | null } = {},
): BilledUnits[] {
  const variants = listVariants(resolution, audio)
  const { width, height } = (size === null ? null : parseSize(size)) ?? sizeOf(resolution ?? '4K', '16:9')
  const bound = Math.ceil((width * height * framesPerSecond * seconds) / pixelsPerToken)
  const count = (unit: BillingUnit, quantity: number): BilledUnits => ({
    billable: 'output_video',
    unit,
    quantity,
    variants,
  })
  return [count('second', Math.ceil(seconds * 1000)), count('video', videos), count('token', tokens ?? bound)]
}

/** The names of prices, the most specific first. */
function listVariants(resolution: VideoResolution | null, audio: boolean | null): string[] {
  const sound = audio === null ? null : audio ? 'with_audio' : 'without_audio'
  return [
    ...(resolution && sound ? [`${resolution}_${sound}`] : []),
    ...(resolution ? [resolution] : []),
    ...(sound ? [sound] : []),
  ]
}
