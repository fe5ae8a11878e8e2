import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { speechSampleRate } from '../call/speech.ts'
import { countCompletionTokens, countPromptTokens } from '../call/usage.ts'
import { encodeStreamError } from '../chat/error.ts'
import type { MediaReplyContext } from '../media.ts'
import type { SpeechFormat } from '../vocabulary.ts'

const contentTypes: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** Bare samples do not say themselves how fast they are to be played. */
export function contentTypeOf(format: SpeechFormat, sampleRate = speechSampleRate): string {
  return format === 'pcm' ? `${contentTypes.pcm};rate=${sampleRate};channels=1` : contentTypes[format]
}

/** Delivers a reply to the client. */
export interface SpeechWriter {
  contentType: string
  write(audio: Uint8Array): string | Uint8Array
  /** Returns the text after the audio. */
  end(context: MediaReplyContext): string
  /** Null if the error cannot be expressed. */
  fail(error: GatewayError): string | null
}

/** The audio itself. */
export function createAudioWriter(contentType: string): SpeechWriter {
  return { contentType, write: (audio) => audio, end: () => '', fail: () => null }
}

/** Server-sent events of the OpenAI format. */
export const eventWriter: SpeechWriter = {
  contentType: 'text/event-stream; charset=utf-8',
  write: (audio) =>
    audio.length === 0
      ? ''
      : encodeEvent({ type: 'speech.audio.delta', audio: Buffer.from(audio).toString('base64') }),
  end({ usage, cost, metadata }) {
    const [input, output] = [countPromptTokens(usage), countCompletionTokens(usage)]
    return encodeEvent({
      type: 'speech.audio.done',
      usage: { input_tokens: input, output_tokens: output, total_tokens: input + output, cost: cost.total },
      ...(metadata && { service_metadata: metadata }),
    })
  },
  fail: (error) => encodeEvent({ type: 'error', error: encodeStreamError(error) }),
}

function encodeEvent(event: JsonObject): string {
  return `data: ${JSON.stringify(event)}\n\n`
}
