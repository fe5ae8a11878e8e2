import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ReasoningFormat } from '../../formats/call/part.ts'
import type { Usage, UsageCost } from '../../formats/call/usage.ts'
import type { Relay, ReplyReader } from '../../formats/wire-format.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import type { InferenceRequest } from '../request/inference-request.ts'
import type { Attempt } from '../upstream/attempt.ts'
import { EventEncoder } from './event-encoder.ts'
import { type Awaitable, joinTexts } from './join-texts.ts'
import type { ReplyPipeline } from './transforms.ts'

/** A relay whose reply may pass transforms: then it writes promises. */
export interface ReplyRelay extends Omit<Relay, 'pass' | 'close' | 'end'> {
  pass(frame: SseFrame): Awaitable<string>
  close?(): Awaitable<string>
  end(usage: Usage, cost: UsageCost): Awaitable<string>
}

/** Passes the upstream's frames through where client and upstream share a format and nothing changes the reply. */
export function createRelay(
  { format }: InferenceRequest,
  { candidate, translation, context, pipeline }: Attempt,
): ReplyRelay {
  const { upstream } = translation.wireFormat
  if (translation.isPassThrough && !pipeline.hasTransforms) {
    const relay = translation.wireFormat.passthrough.createRelay(context)
    return pipeline.hasObservers ? new ObservedRelay(relay, upstream.createReader(), pipeline) : relay
  }
  const { replyCodec } = format
  const encoder = new EventEncoder(replyCodec.createWriter(context), replyCodec.replyLimits, pipeline)
  return new TranslatedRelay(upstream.createReader(), encoder, candidate.endpoint.provider.signatures)
}

/** Decodes the upstream's frames into events and encodes them for the client. */
class TranslatedRelay implements ReplyRelay {
  readonly #reader: ReplyReader
  readonly #encoder: EventEncoder
  readonly #signatures: ReasoningFormat | undefined

  constructor(reader: ReplyReader, encoder: EventEncoder, signatures: ReasoningFormat | undefined) {
    this.#reader = reader
    this.#encoder = encoder
    this.#signatures = signatures
  }

  get summary() {
    return this.#encoder.summary
  }
  get finalBody() {
    return this.#encoder.finalBody
  }

  pass(frame: SseFrame): Awaitable<string> {
    return this.#write(this.#reader.read(frame))
  }
  close(): Awaitable<string> {
    return this.#write(this.#reader.end())
  }
  end: ReplyRelay['end'] = (usage, cost) => this.#encoder.end(usage, cost)
  fail: Relay['fail'] = (error) => this.#encoder.fail(error)

  #write(events: ReplyEvent[]): Awaitable<string> {
    return joinTexts(events, (event) => {
      markSignature(this.#signatures, event)
      this.#encoder.record(event)
      return this.#encoder.write(event)
    })
  }
}

/** Vendors who share a format cannot read each other's signatures, so a part names the vendor it came from. */
export function markSignature(signatures: ReasoningFormat | undefined, event: ReplyEvent): void {
  if (!signatures || event.type !== 'part-start' || event.content.kind !== 'reasoning') return
  if (event.content.format !== 'unknown') event.content.format = signatures
}

/** A pass-through relay decodes as little as it can, so its frames are decoded once more for the observers. */
class ObservedRelay implements Relay {
  readonly #relay: Relay
  readonly #reader: ReplyReader
  readonly #pipeline: ReplyPipeline
  #isEnded = false

  constructor(relay: Relay, reader: ReplyReader, pipeline: ReplyPipeline) {
    this.#relay = relay
    this.#reader = reader
    this.#pipeline = pipeline
  }

  get summary() {
    return this.#relay.summary
  }
  get finalBody() {
    return this.#relay.finalBody
  }

  pass(frame: SseFrame): string {
    this.#pipeline.observe(this.#reader.read(frame))
    return this.#relay.pass(frame)
  }
  close(): string {
    this.#endReader()
    return this.#relay.close?.() ?? ''
  }
  /** A complete reply ends before its last frame is read. */
  end: Relay['end'] = (usage, cost) => {
    this.#endReader()
    return this.#relay.end(usage, cost)
  }
  fail: Relay['fail'] = (error) => this.#relay.fail(error)

  #endReader(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#pipeline.observe(this.#reader.end())
  }
}
