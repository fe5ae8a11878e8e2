import type { ImageEvent, ImagesCall, ImagesReply } from '../../formats/call/images.ts'
import {
  type EventPrefix,
  encodeCompleted,
  encodePartialImage,
  encodeStreamError,
} from '../../formats/images/encode.ts'
import type { MediaReplyContext } from '../../formats/media.ts'
import { newReplySummary, type ReplySummary } from '../../formats/wire-format.ts'
import type { Gateway } from '../../gateway/gateway.ts'
import type { GatewayError } from '../../platform/errors/gateway-error.ts'
import { checkBase64 } from '../../platform/media/base64-image.ts'
import { runInSlices } from '../../platform/time/time-slicer.ts'
import { unexpectedReplyError } from '../failures/errors.ts'
import type { MediaFilter } from '../guard/media-filter.ts'
import type { UpstreamExchange } from '../upstream/exchange.ts'
import { filterImages, ImageCollector } from './image-reply.ts'
import type { MediaStream } from './reply-streamed.ts'
import { summarizeMedia } from './reply-whole.ts'

/** Previews as they arrive. The complete images are held back until they are charged. */
export class ImageStream implements MediaStream {
  readonly contentType = 'text/event-stream; charset=utf-8'
  first = ''
  summary: ReplySummary = newReplySummary()
  readonly #gateway: Gateway
  readonly #exchange: UpstreamExchange
  readonly #events: AsyncGenerator<ImageEvent>
  readonly #prefix: EventPrefix
  readonly #collector: ImageCollector
  #reply: ImagesReply | null = null
  #filter: MediaFilter | null = null

  private constructor(
    gateway: Gateway,
    exchange: UpstreamExchange,
    call: ImagesCall,
    events: AsyncGenerator<ImageEvent>,
    prefix: EventPrefix,
  ) {
    this.#gateway = gateway
    this.#exchange = exchange
    this.#events = events
    this.#prefix = prefix
    this.#collector = new ImageCollector(call)
  }

  /** Resolves with the first preview, or with all images if there is none. */
  static async open(
    gateway: Gateway,
    exchange: UpstreamExchange,
    call: ImagesCall,
    events: AsyncGenerator<ImageEvent>,
    prefix: EventPrefix,
  ): Promise<ImageStream> {
    const stream = new ImageStream(gateway, exchange, call, events, prefix)
    stream.first = (await stream.next()) ?? ''
    return stream
  }

  filter(filter: MediaFilter): void {
    this.#filter = filter
  }

  async next(): Promise<string | null> {
    if (this.#reply) return this.#filterReply(this.#reply)
    try {
      for (;;) {
        const { done, value } = await this.#events.next()
        if (done) break
        if (value.type === 'partial-image') return await this.#encodePartial(value.index, value.data)
        this.#collector.add(value)
      }
      this.#reply = await this.#collector.finish(this.#gateway)
      this.summary = summarizeMedia(this.#reply)
      return ''
    } catch (error) {
      throw this.#exchange.toError(error)
    }
  }

  /** Filters the reply, and discards it if a filter refuses it. */
  async #filterReply(reply: ImagesReply): Promise<null> {
    const filter = this.#filter
    if (!filter) return null
    this.#reply = null
    this.#reply = await filterImages(reply, filter)
    this.#filter = null
    return null
  }

  async #encodePartial(index: number, data: string): Promise<string> {
    if (!(await runInSlices(checkBase64(data))))
      throw unexpectedReplyError('The provider sent a preview that cannot be decoded.')
    return encodePartialImage(this.#prefix, index, data, Math.floor(this.#gateway.clock.now() / 1000))
  }

  get text(): string {
    return this.#filter ? '' : (this.#reply?.text ?? '')
  }

  end(context: MediaReplyContext): string {
    return this.#reply ? encodeCompleted(this.#prefix, this.#reply, context) : ''
  }

  fail(error: GatewayError): string {
    return encodeStreamError(error)
  }

  cancel(): void {
    this.#exchange.abort()
  }
}
