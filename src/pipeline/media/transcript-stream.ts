import type { Gateway } from '../../app/gateway.ts'
import {
  countAudioUnits,
  type TranscriptEvent,
  type TranscriptionCall,
  type TranscriptionReply,
} from '../../call/transcription.ts'
import { zeroUsage } from '../../call/usage.ts'
import { newReplySummary, type ReplySummary } from '../../dialects/dialect.ts'
import type { MediaReplyContext } from '../../dialects/media.ts'
import type { TranscriptReader } from '../../dialects/transcriptions/dialect.ts'
import { encodeDelta, encodeDone, encodeTranscriptError } from '../../dialects/transcriptions/encode.ts'
import type { GatewayError } from '../../errors/gateway-error.ts'
import { SseReader } from '../../lib/sse.ts'
import { UpstreamError, unexpectedReplyError } from '../upstream/errors.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { redactFrames } from '../upstream/redact-secrets.ts'
import type { UpstreamResponse } from '../upstream/send.ts'
import type { MediaStream } from './reply-streamed.ts'
import { summarizeMedia } from './reply-whole.ts'

/** For a reply that ends before its count: what vendors count for a second of speech. */
const usualTokensPerSecond = 10

/** A transcript as server-sent events, each as it arrives. The last is held until the charge is durable. */
export class TranscriptStream implements MediaStream {
  readonly contentType = 'text/event-stream; charset=utf-8'
  first = ''
  summary: ReplySummary
  text = ''
  readonly #events: AsyncIterator<TranscriptEvent>
  readonly #exchange: UpstreamExchange
  #reply: TranscriptionReply | null = null

  private constructor(
    events: AsyncIterator<TranscriptEvent>,
    call: TranscriptionCall,
    exchange: UpstreamExchange,
  ) {
    this.#events = events
    this.#exchange = exchange
    const inputAudio = Math.ceil((call.recording.durationMs / 1000) * usualTokensPerSecond)
    // The recording is processed whole, whenever the client disconnects.
    const units = countAudioUnits(call, null)
    this.summary = { ...newReplySummary(), units, usage: { ...zeroUsage, inputAudio } }
  }

  /** Resolves with the first event: until then another provider can reply. */
  static async open(
    gateway: Gateway,
    exchange: UpstreamExchange,
    events: AsyncIterator<TranscriptEvent>,
    call: TranscriptionCall,
  ): Promise<TranscriptStream> {
    const stream = new TranscriptStream(events, call, exchange)
    stream.first = (await stream.next()) ?? ''
    const { failure, hasContent } = stream.summary
    if (failure) throw new UpstreamError(failure)
    if (!hasContent) throw unexpectedReplyError('The provider sent an empty reply.')
    exchange.setTimeout(gateway.settings.limits.total)
    return stream
  }

  async next(): Promise<string | null> {
    if (this.#reply) return null
    const { done, value } = await this.#events.next().catch((error: unknown) => {
      throw this.#exchange.toError(error)
    })
    if (done) return null
    switch (value.type) {
      case 'delta':
        this.summary.hasContent = true
        this.summary.characters += value.text.length
        this.text += value.text
        return encodeDelta(value)
      case 'done':
        this.#reply = value.reply
        this.text = value.reply.text
        this.summary = { ...summarizeMedia(value.reply), characters: this.summary.characters }
        return null
      case 'error':
        this.summary.failure = value.failure
        return null
    }
  }

  end(context: MediaReplyContext): string {
    return this.#reply ? encodeDone(this.#reply, context) : ''
  }

  fail(error: GatewayError): string {
    return encodeTranscriptError(error)
  }

  cancel(): void {
    this.#exchange.abort()
  }
}

/** The events of an upstream's stream. */
export async function* readEvents(
  { timeSlicer }: Gateway,
  { response, secrets, maxBytes, maxContainers }: UpstreamResponse,
  reader: TranscriptReader,
): AsyncGenerator<TranscriptEvent> {
  const frames = redactFrames(new SseReader(), secrets, maxContainers)
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maxBytes) throw unexpectedReplyError('The reply from the provider is too large.')
    for await (const frame of timeSlicer.iterate(frames.push(chunk).values())) yield* reader.read(frame)
  }
  for (const frame of frames.end()) yield* reader.read(frame)
}

/** A whole reply as the events of a stream. */
export async function* streamWhole(reply: TranscriptionReply): AsyncGenerator<TranscriptEvent> {
  const { text, logprobs } = reply
  if (text !== '') yield { type: 'delta', text, ...(logprobs && { logprobs }) }
  yield { type: 'done', reply }
}
