import type { JsonObject } from '../../platform/json/json-values.ts'
import type { SpeechCall, SpeechEvent } from '../call/speech.ts'
import type { MediaWireFormat } from '../media.ts'
import type { SpeechFormat } from '../vocabulary.ts'

/** A wire format for speech. */
export type SpeechWireFormat = StreamedSpeechWireFormat | WholeSpeechWireFormat

interface SpeechFormats extends MediaWireFormat<SpeechCall> {
  /** The formats of audio that it can request. */
  formats: readonly SpeechFormat[]
  /** Sends a recording to imitate. */
  sendsReferences?: true
  /** The `provider.options` that it forwards; all if absent. */
  options?: readonly string[]
}

/** A format whose replies arrive piece by piece. */
export interface StreamedSpeechWireFormat extends SpeechFormats {
  /** Creates a reader with the state of one reply; null if the content type is not that of a reply. */
  createReader(contentType: string): SpeechReader | null
}

/** A format whose replies are one JSON object. */
export interface WholeSpeechWireFormat extends SpeechFormats {
  /** Null if the body is not a reply of this format. */
  decodeReply(body: JsonObject, call: SpeechCall): Iterable<SpeechEvent> | null
}

export interface SpeechReader {
  read(bytes: Uint8Array): SpeechEvent[]
  /** The body ended: the remaining events. Includes `reply-end` only if the reply is complete. */
  end(): SpeechEvent[]
}
