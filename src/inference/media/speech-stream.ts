import type { SpeechCall, SpeechEvent } from '../../formats/call/speech.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import { estimateAudioTokens, listUnits } from '../../formats/speech/decode.ts'
import {
  contentTypeOf,
  createAudioWriter,
  eventWriter,
  type SpeechWriter,
} from '../../formats/speech/encode.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { hasAudio } from '../../platform/media/audio-start.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { MediaStream } from './reply-streamed.ts'

/** Tags of a recording, with a picture for example, precede the audio. */
const maxBytesBeforeAudio = 1024 * 1024
/** Audio is not held in memory: this only ends what never ends. The longest text, spoken slowly, has half of it. */
const maxAudioBytes = 1024 * 1024 * 1024
/** Divisor for estimates of tokens that are not reported. */
const charactersPerToken = 4

/** Creates the writer of audio to the client; `sampleRate` if the upstream reports it. */
export type CreateWriter = (call: SpeechCall, sampleRate: number | undefined) => SpeechWriter

/** Creates a writer of this API's own format. */
export const createOwnWriter: CreateWriter = ({ delivery, format }, sampleRate) =>
  delivery === 'events' ? eventWriter : createAudioWriter(contentTypeOf(format, sampleRate))

/** The audio of a reply, as it arrives. */
export class SpeechStream implements MediaStream {
  first: string | Uint8Array
  readonly summary: ReplySummary
  readonly #events: AsyncIterator<SpeechEvent>
  readonly #exchange: UpstreamExchange
  readonly #writer: SpeechWriter
  #bytes: number

  private constructor(
    events: AsyncIterator<SpeechEvent>,
    exchange: UpstreamExchange,
    writer: SpeechWriter,
    audio: Uint8Array,
    summary: ReplySummary,
  ) {
    this.#events = events
    this.#exchange = exchange
    this.#writer = writer
    this.#bytes = audio.length
    this.first = writer.write(audio)
    this.summary = summary
  }

  /** Waits for audio that can be played; until then, another provider can still take over. */
  static async open(
    events: AsyncIterator<SpeechEvent>,
    exchange: UpstreamExchange,
    call: SpeechCall,
    isBilledByToken: boolean,
    createWriter: CreateWriter,
  ): Promise<SpeechStream> {
    const summary = createSummary(call, isBilledByToken)
    const { audio, sampleRate } = await bufferUntilAudio(events, exchange, call, summary)
    const writer = createWriter(call, sampleRate)
    return new SpeechStream(events, exchange, writer, audio, markBillable(summary))
  }

  get contentType(): string {
    return this.#writer.contentType
  }

  async next(): Promise<string | Uint8Array | null> {
    const event = await readEvent(this.#events, this.#exchange, this.summary)
    if (event === null) return null
    this.#bytes += event.bytes.length
    if (this.#bytes > maxAudioBytes) throw unexpectedReplyError('The reply from the provider is too large.')
    return this.#writer.write(event.bytes)
  }

  end(context: MediaReplyContext): string {
    return this.#writer.end(context)
  }

  fail(error: GatewayError): string | null {
    return this.#writer.fail(error)
  }

  cancel(): void {
    this.#exchange.abort()
  }
}

async function bufferUntilAudio(
  events: AsyncIterator<SpeechEvent>,
  exchange: UpstreamExchange,
  { format }: SpeechCall,
  summary: ReplySummary,
): Promise<{ audio: Uint8Array; sampleRate: number | undefined }> {
  const pending: Uint8Array[] = []
  let size = 0
  let checkedSize = 0
  for (;;) {
    const event = await readEvent(events, exchange, summary)
    if (event) pending.push(event.bytes)
    size += event?.bytes.length ?? 0
    // Tiny pieces are not searched again and again.
    if (event && size < 2 * checkedSize) continue
    const audio = Buffer.concat(pending.splice(0))
    if (hasAudio(audio, format)) return { audio, sampleRate: event?.sampleRate }
    if (event === null || size > maxBytesBeforeAudio)
      throw unexpectedReplyError('The provider sent no audio that can be played.')
    pending.push(audio)
    checkedSize = size
  }
}

type AudioDelta = Extract<SpeechEvent, { type: 'audio-delta' }>

/** The next audio; null at the end, whether or not the reply is complete. */
async function readEvent(
  events: AsyncIterator<SpeechEvent>,
  exchange: UpstreamExchange,
  summary: ReplySummary,
): Promise<AudioDelta | null> {
  for (;;) {
    const { done, value: event } = await events.next().catch((error) => {
      throw exchange.toError(error)
    })
    if (done) return null
    if (event.type === 'audio-delta') return event
    if (event.type === 'reply-error') {
      summary.failure = event.failure
      throw new UpstreamError(event.failure)
    }
    if (event.type === 'usage') Object.assign(summary, { usage: event.usage, characters: 0 })
    else summary.isComplete = true
  }
}

/** Tokens that are not reported are estimated from the text. */
function createSummary(call: SpeechCall, isBilledByToken: boolean): ReplySummary {
  const summary = { ...newReplySummary(), units: listUnits(call) }
  return isBilledByToken
    ? { ...summary, characters: estimateAudioTokens(call) * charactersPerToken }
    : { ...summary, usage: zeroUsage }
}

/** The reply is billed in full as soon as it has audio that can be played. */
function markBillable(summary: ReplySummary): ReplySummary {
  return Object.assign(summary, { hasContent: true, finishReasons: [{ reason: 'stop', native: null }] })
}
