import {
  countAudioUnits,
  needsSpeakers,
  type TranscriptEvent,
  type TranscriptionCall,
  type TranscriptionReply,
  type TranscriptSegment,
} from '../../formats/call/transcription.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import {
  encodeDelta,
  encodeDone,
  encodeSegmentEvent,
  encodeTranscriptError,
  listSegments,
} from '../../formats/transcriptions/encode.ts'
import type { TranscriptReader } from '../../formats/transcriptions/wire-format.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { UpstreamError, unexpectedReplyError } from '../failures/errors.ts'
import { RedactedFrames } from '../failures/redact-secrets.ts'
import type { HeldText } from '../guard/held-text.ts'
import type { MediaFilter } from '../guard/media-filter.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import type { UpstreamResponse } from '../upstream/send.ts'
import { filterTranscript } from './filter-transcript.ts'
import type { MediaStream } from './reply-streamed.ts'
import { summarizeMedia } from './reply-whole.ts'

type TranscriptDelta = Extract<TranscriptEvent, { type: 'delta' }>

/** Tokens that vendors usually count for a second of speech, for a reply that ends before its usage. */
const usualTokensPerSecond = 10

/** A transcript as server-sent events, each as it arrives. The last is held until the charge is durable. */
export class TranscriptStream implements MediaStream {
  readonly contentType = 'text/event-stream; charset=utf-8'
  readonly first = ''
  summary: ReplySummary
  text = ''
  /** The event that was read before the stream was accepted, while another provider could still reply. */
  #opened: TranscriptEvent | null = null
  #filter: MediaFilter | null = null
  #held: HeldText | null = null
  #hasDeltas = false
  /** Segments that have arrived. With filters they are sent at the end, since a match may extend over several. */
  #segments: TranscriptSegment[] = []
  readonly #call: TranscriptionCall
  readonly #events: AsyncIterator<TranscriptEvent>
  readonly #exchange: UpstreamExchange
  #reply: TranscriptionReply | null = null

  private constructor(
    events: AsyncIterator<TranscriptEvent>,
    call: TranscriptionCall,
    exchange: UpstreamExchange,
  ) {
    this.#call = call
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
    stream.#opened = await stream.#read()
    const { failure, hasContent } = stream.summary
    if (failure) throw new UpstreamError(failure)
    if (!hasContent) throw unexpectedReplyError('The provider sent an empty reply.')
    exchange.setTimeout(gateway.settings.limits.total)
    return stream
  }

  filter(filter: MediaFilter): void {
    this.#filter = filter
    this.#held = filter.hold()
  }

  async next(): Promise<string | null> {
    if (this.#reply) return null
    const event = this.#opened ?? (await this.#read())
    this.#opened = null
    if (event?.type === 'delta') return this.#encodeDelta(event)
    if (event?.type === 'segment') return this.#encodeSegment(event.segment)
    return event?.type === 'done' ? this.#complete(event.reply) : null
  }

  /** The next event, after the summary is up to date. */
  async #read(): Promise<TranscriptEvent | null> {
    const { done, value } = await this.#events.next().catch((error: unknown) => {
      throw this.#exchange.toError(error)
    })
    if (done) return null
    if (value.type === 'delta') {
      this.summary.hasContent = true
      this.summary.characters += value.text.length
    } else if (value.type === 'segment') this.summary.hasContent = true
    else if (value.type === 'done')
      this.summary = { ...summarizeMedia(value.reply), characters: this.summary.characters }
    else this.summary.failure = value.failure
    return value
  }

  async #encodeDelta(delta: TranscriptDelta): Promise<string> {
    this.#hasDeltas = true
    this.#filter?.observe(delta.text)
    const text = this.#held ? await this.#held.add(delta.text) : delta.text
    this.text += text
    return this.#held ? encodeText(text) : encodeDelta(delta)
  }

  #encodeSegment(segment: TranscriptSegment): string {
    if (!needsSpeakers(this.#call)) return ''
    const index = this.#segments.push(segment) - 1
    return this.#held ? '' : encodeSegmentEvent(segment, index)
  }

  async #complete(reply: TranscriptionReply): Promise<string | null> {
    const rest = (await this.#held?.end()) ?? ''
    const sent = this.#held ? 0 : this.#segments.length
    const segments = this.#segments.length > 0 ? this.#segments : reply.segments
    const text = await this.#completeText(reply, rest)
    const whole = { ...reply, segments }
    this.#reply = this.#filter ? await filterTranscript(whole, text, this.#filter) : whole
    this.text = text
    return encodeText(rest) + this.#encodeSegmentsFrom(sent, this.#reply) || null
  }

  /** Some providers send segments instead of deltas. */
  #completeText(reply: TranscriptionReply, rest: string): string | Promise<string> {
    if (this.#filter && !this.#hasDeltas) return this.#filter.redact(reply.text)
    return this.#held ? this.text + rest : reply.text
  }

  #encodeSegmentsFrom(start: number, reply: TranscriptionReply): string {
    if (!needsSpeakers(this.#call)) return ''
    return listSegments(this.#call, reply)
      .map((segment, index) => (index < start ? '' : encodeSegmentEvent(segment, index)))
      .join('')
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

function encodeText(text: string): string {
  return text === '' ? '' : encodeDelta({ type: 'delta', text })
}

/** The events of an upstream's stream. */
export async function* readEvents(
  { timeSlicer }: Gateway,
  { response, secrets, maxBytes, maxValues }: UpstreamResponse,
  reader: TranscriptReader,
): AsyncGenerator<TranscriptEvent> {
  const frames = new RedactedFrames(new SseReader(), secrets, maxValues)
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
