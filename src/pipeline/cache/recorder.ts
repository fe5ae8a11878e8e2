import { type Reply, ReplyCollector, type ReplyEvent } from '../../call/event.ts'
import type { Dialect, Passthrough, Relay, ReplyWriter } from '../../dialects/dialect.ts'
import { estimateJsonLength } from '../../lib/long-json.ts'
import { tapRelay } from '../reply/transcript.ts'
import type { ClientFormat } from '../request/inference-request.ts'

/** Listens to a reply on its way to the client. Of several attempts the last one counts. */
export class ReplyRecorder {
  readonly #maxLength: number
  #collector = new ReplyCollector()
  #whole: Reply | null = null
  #length = 0

  /** `most` is how long a reply may be, in characters, to be worth listening to. */
  constructor(most: number) {
    this.#maxLength = most
  }

  /** The reply; null when it is too long. */
  get reply(): Reply | null {
    if (this.#length > this.#maxLength) return null
    return this.#whole ?? this.#collector.reply
  }

  add(event: ReplyEvent): void {
    if (this.#length > this.#maxLength) return
    this.#length += lengthOf(event)
    if (this.#length <= this.#maxLength) this.#collector.add(event)
    else this.#collector = new ReplyCollector()
  }

  /** The same format, but nothing is said in it that is not heard here. */
  tap(format: ClientFormat): ClientFormat {
    const { replyCodec, dialect } = format
    return {
      ...format,
      replyCodec: {
        ...replyCodec,
        createWriter: (about) => tapWriter(replyCodec.createWriter(about), this.#reset()),
        encodeReply: (reply, about, bill) => {
          this.#reset().#length = estimateJsonLength(reply)
          this.#whole = reply
          return replyCodec.encodeReply(reply, about, bill)
        },
      },
      dialect: dialect && { ...dialect, passthrough: this.#tapDialect(dialect) },
    }
  }

  #tapDialect(dialect: Dialect): Passthrough {
    const { passthrough, upstream } = dialect
    return {
      ...passthrough,
      createRelay: (about): Relay => tapRelay(passthrough.createRelay(about), dialect, this.#reset()),
      passReply: (body, about, bill, usage) => {
        this.#reset()
        for (const event of upstream.decodeReply(body)) this.add(event)
        return passthrough.passReply(body, about, bill, usage)
      },
    }
  }

  #reset(): this {
    this.#collector = new ReplyCollector()
    this.#whole = null
    this.#length = 0
    return this
  }
}

function tapWriter(writer: ReplyWriter, recording: ReplyRecorder): ReplyWriter {
  return {
    write: (event) => {
      recording.add(event)
      return writer.write(event)
    },
    end: (usage, bill) => writer.end(usage, bill),
    fail: (error) => writer.fail(error),
    get finalBody() {
      return writer.finalBody
    },
  }
}

/** Of what it says: the rest is bounded by that. */
function lengthOf(event: ReplyEvent): number {
  if (event.type === 'part-start') return estimateJsonLength(event.content)
  if (event.type !== 'part-delta') return 0
  return Object.values(event.delta).reduce<number>(
    (length, said) => length + (typeof said === 'string' ? said.length : estimateJsonLength(said)),
    0,
  )
}
