import { Collector, type Reply, type ReplyEvent } from '../call/event.ts'
import type { Dialect, Relay, ReplyWriter, SameDialect } from '../dialects/dialect.ts'
import { jsonLength } from '../lib/long-json.ts'
import type { Format } from './asked.ts'
import { notedRelay } from './transcript.ts'

/** Listens to a reply on its way to the client. Of several attempts the last one counts. */
export class Recording {
  readonly #most: number
  #collector = new Collector()
  #whole: Reply | null = null
  #length = 0

  /** `most` is how long a reply may be, in characters, to be worth listening to. */
  constructor(most: number) {
    this.#most = most
  }

  /** The reply; null when it is too long. */
  get reply(): Reply | null {
    if (this.#length > this.#most) return null
    return this.#whole ?? this.#collector.reply
  }

  add(event: ReplyEvent): void {
    if (this.#length > this.#most) return
    this.#length += lengthOf(event)
    if (this.#length <= this.#most) this.#collector.add(event)
    else this.#collector = new Collector()
  }

  /** The same format, but nothing is said in it that is not heard here. */
  listening(format: Format): Format {
    const { writes, dialect } = format
    return {
      ...format,
      writes: {
        ...writes,
        writer: (about) => heardWriter(writes.writer(about), this.#anew()),
        encodeReply: (reply, about, bill) => {
          this.#anew().#length = jsonLength(reply)
          this.#whole = reply
          return writes.encodeReply(reply, about, bill)
        },
      },
      dialect: dialect && { ...dialect, same: this.#same(dialect) },
    }
  }

  #same(dialect: Dialect): SameDialect {
    const { same, upstream } = dialect
    return {
      ...same,
      relay: (about): Relay => notedRelay(same.relay(about), dialect, this.#anew()),
      passReply: (body, about, bill, usage) => {
        this.#anew()
        for (const event of upstream.decodeReply(body)) this.add(event)
        return same.passReply(body, about, bill, usage)
      },
    }
  }

  #anew(): this {
    this.#collector = new Collector()
    this.#whole = null
    this.#length = 0
    return this
  }
}

function heardWriter(writer: ReplyWriter, recording: Recording): ReplyWriter {
  return {
    write: (event) => {
      recording.add(event)
      return writer.write(event)
    },
    end: (usage, bill) => writer.end(usage, bill),
    fail: (error) => writer.fail(error),
    get final() {
      return writer.final
    },
  }
}

/** Of what it says: the rest is bounded by that. */
function lengthOf(event: ReplyEvent): number {
  if (event.type === 'part-start') return jsonLength(event.content)
  if (event.type !== 'part-delta') return 0
  return Object.values(event.delta).reduce<number>(
    (length, said) => length + (typeof said === 'string' ? said.length : jsonLength(said)),
    0,
  )
}
