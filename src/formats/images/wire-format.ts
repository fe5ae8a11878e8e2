import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ImageEvent, ImagesCall } from '../call/images.ts'
import type { MediaWireFormat } from '../media.ts'

/** A wire format of upstreams for images. */
export interface ImageWireFormat extends MediaWireFormat<ImagesCall> {
  /** Images that it can send with the prompt. */
  maxReferences: number
  takesMask: boolean
  /** The events of a whole reply; none if the body is in another format. */
  decodeReply(body: JsonObject): ImageEvent[]
  /** The events of a frame of a stream; absent if the format has no streams. */
  decodeFrame?(data: JsonObject): ImageEvent[]
}
