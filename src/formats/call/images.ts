import type { JsonObject } from '../../platform/json/json-values.ts'
import type { UpstreamFailure } from './failure.ts'
import type { MediaSource } from './part.ts'
import type { BilledUnits } from './units.ts'
import type { Usage } from './usage.ts'

export interface PixelSize {
  width: number
  height: number
}

/** A request for images in the gateway's internal form. An absent field was not requested, or is `auto`. */
export interface ImagesCall {
  prompt: string
  /** The number of images. */
  n: number
  size?: PixelSize
  /** `512`, `1K`, `2K` or `4K`. */
  resolution?: string
  /** A ratio such as `16:9`. */
  aspectRatio?: string
  quality?: string
  background?: string
  outputFormat?: string
  outputCompression?: number
  seed?: number
  references: ImageSource[]
  /** An image whose transparent pixels mark what to change in the first reference. */
  mask?: ImageSource
  stream: boolean
  /** Previews of each image while it is generated, if the reply is streamed. */
  partialImages?: number
  user?: string
  /** Fields that only one format has: they reach only upstreams of that format. */
  native: JsonObject
  /** Fields that no upstream is sent, by their names in `x-headgate-dropped`. */
  unknown: string[]
}

/** Base64, or where the image is to be downloaded from. */
export type ImageSource = Extract<MediaSource, { kind: 'data' | 'url' }>

/** An image as an upstream sends it, before it is checked. */
export interface ReceivedImage {
  source: { kind: 'data'; data: string } | { kind: 'url'; url: string }
  revisedPrompt?: string
}

/** One event of a reply. A whole reply is the same events without previews. */
export type ImageEvent =
  | { type: 'partial-image'; index: number; data: string }
  | { type: 'image'; image: ReceivedImage }
  /** The last one counts. */
  | { type: 'usage'; usage: Usage }
  /** The quality that the upstream chose. */
  | { type: 'quality'; quality: string }
  | { type: 'error'; failure: UpstreamFailure }

/** A complete image in base64. */
export interface GeneratedImage {
  data: string
  mediaType: string
  /** Null for vector graphics. */
  size: PixelSize | null
  revisedPrompt?: string
}

export interface ImagesReply {
  images: GeneratedImage[]
  /** The revised prompts. */
  text: string
  usage: Usage | null
  units: readonly BilledUnits[]
}
