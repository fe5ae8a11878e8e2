import { type SseFrame, SseReader } from '../../platform/http/sse.ts'
import { tryParseJson } from '../../platform/json/json.ts'
import { asCount, asObject, asString } from '../../platform/json/json-values.ts'
import type { SpeechEvent } from '../call/speech.ts'
import { zeroUsage } from '../call/usage.ts'
import { decodeFailure } from '../chat/error.ts'
import type { SpeechReader } from './wire-format.ts'

/** Reads server-sent events: `speech.audio.delta`, then `speech.audio.done` with the usage. */
export class EventReader implements SpeechReader {
  readonly #frames = new SseReader()

  read(bytes: Uint8Array): SpeechEvent[] {
    return this.#frames.push(bytes).flatMap(decodeFrame)
  }

  end(): SpeechEvent[] {
    return this.#frames.end().flatMap((frame) => (frame.truncated ? [] : decodeFrame(frame)))
  }
}

function decodeFrame({ data }: SseFrame): SpeechEvent[] {
  const body = asObject(tryParseJson(data))
  if (!body) return []
  if (body.type === 'speech.audio.delta')
    return [{ type: 'audio-delta', bytes: Buffer.from(asString(body.audio) ?? '', 'base64') }]
  if (body.type === 'speech.audio.done') return [...decodeUsage(body.usage), { type: 'reply-end' }]
  const isError = body.type === 'error' || body.error !== undefined
  return isError ? [{ type: 'reply-error', failure: decodeFailure(body.error ?? body, null) }] : []
}

/** All output is audio. */
function decodeUsage(value: unknown): SpeechEvent[] {
  const reported = asObject(value)
  const outputAudio = asCount(reported?.output_tokens)
  if (!reported || outputAudio === 0) return []
  const usage = { ...zeroUsage, input: asCount(reported.input_tokens), outputAudio }
  return [{ type: 'usage', usage }]
}
