import type { ModelCall } from '../../formats/call/call.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { UpstreamFailure } from '../../formats/call/failure.ts'
import type { ImageEvent, ImagesCall } from '../../formats/call/images.ts'
import type { SpeechCall, SpeechEvent } from '../../formats/call/speech.ts'
import type { TranscriptEvent, TranscriptionCall } from '../../formats/call/transcription.ts'
import type { VideoCall, VideoProgress } from '../../formats/call/video.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'

/** The environment of a simulation: time, cancellation and a size limit. */
export interface SimulateOptions {
  signal: AbortSignal
  /** Rejects when the request is canceled. */
  sleep(ms: number): Promise<void>
  /** The maximum size of the reply. */
  maxBytes: number
}

/** The reply to a task other than text, or how it fails. */
export type MediaSimulator<Call, Reply> = (
  call: Call,
  model: string,
  options: SimulateOptions,
) => Promise<{ reply: Reply } | { failure: UpstreamFailure }>

/** Generates a reply inside this process. `model` is the endpoint's upstream name. */
export type Simulator = (
  call: ModelCall,
  model: string,
  options: SimulateOptions,
) => AsyncGenerator<ReplyEvent>

/** Generates images inside this process. */
export type ImageSimulator = (call: ImagesCall, options: SimulateOptions) => AsyncGenerator<ImageEvent>
export type SpeechSimulator = (call: SpeechCall, options: SimulateOptions) => AsyncGenerator<SpeechEvent>
export type TranscriptionSimulator = (
  call: TranscriptionCall,
  options: SimulateOptions,
) => AsyncGenerator<TranscriptEvent>

/** Video jobs of a provider inside this process. Everything about a job is in its id, so that it survives a restart. */
export interface VideoSimulator {
  /** The id of the new job, or how the submission fails. */
  submit(
    call: VideoCall,
    options: JsonObject,
    context: { now: number } & Pick<SimulateOptions, 'sleep'>,
  ): Promise<{ id: string } | { failure: UpstreamFailure }>
  poll(id: string, now: number): VideoProgress
  render(call: VideoCall): AsyncIterable<Uint8Array>
}
