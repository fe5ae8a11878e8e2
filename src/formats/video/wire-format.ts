import type { JsonObject } from '../../platform/json/json-values.ts'
import type { VideoCall, VideoProgress } from '../call/video.ts'
import type { MediaWireFormat } from '../media.ts'

/** A wire format of video jobs: submit, poll, download. */
export interface VideoWireFormat extends MediaWireFormat<VideoCall> {
  /** A request can turn the sound of a video on and off. */
  acceptsAudio: boolean
  /** Finds the reason this format cannot express a call. */
  findProblem?(call: VideoCall): { field: string; problem: string } | null
  /** The provider's id in the reply to a submission; null if it has none. */
  decodeSubmission(body: JsonObject): string | null
  /** Builds a path after the base URL. */
  buildPollPath(upstreamId: string): string
  /** Null if the body is not a job of this format. */
  decodeProgress(body: JsonObject, upstreamId: string): VideoProgress | null
}

/** A provider's reason is shown to the client, and stored. */
const maxReasonLength = 1000

export function clipReason(message: string | undefined): string {
  const text = message?.replaceAll('\0', '').trim()
  return text ? text.slice(0, maxReasonLength) : 'The provider gave no reason.'
}
