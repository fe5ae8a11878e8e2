import { EventStreamCodec } from '@smithy/eventstream-codec'
import { SseError } from './sse.ts'

/** One message of `application/vnd.amazon.eventstream`. */
export interface EventMessage {
  /** Those that are text, by name: `:message-type`, `:event-type` and the like. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** The format's own limit is 16 MiB for the payload, with headers beside it. */
const maxMessageBytes = 17 * 1024 * 1024
/** Two lengths and their checksum, and the checksum of it all. */
const minMessageBytes = 16

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes)),
  (text) => new TextEncoder().encode(text),
)

/** Cuts a byte stream into messages, wherever the bytes were split. */
export class EventStreamReader {
  /** Grows by doubling: a message may come in any number of pieces. */
  #buffer = new Uint8Array(0)
  #length = 0
  /** How long the message is that is being received; 0 while that is not known. */
  #wanted = 0

  push(bytes: Uint8Array): EventMessage[] {
    const all = this.#length === 0 ? bytes : this.#joined(bytes)
    if (all.length >= (this.#wanted || 4)) return this.#cut(all)
    if (this.#length === 0) this.#joined(bytes)
    this.#length = all.length
    return []
  }

  /** What is waiting, with the new bytes behind it. */
  #joined(bytes: Uint8Array): Uint8Array {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(2 * length)
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#length)
    return this.#buffer.subarray(0, length)
  }

  #cut(all: Uint8Array): EventMessage[] {
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
    const messages: EventMessage[] = []
    let at = 0
    this.#wanted = 0
    while (all.length - at >= 4) {
      const length = view.getUint32(at)
      if (length < minMessageBytes || length > maxMessageBytes)
        throw new SseError('an event of the stream is too long')
      this.#wanted = length
      if (all.length - at < length) break
      messages.push(decoded(all.subarray(at, at + length)))
      at += length
      this.#wanted = 0
    }
    // A copy, so that what was read already can be forgotten.
    this.#buffer = all.slice(at)
    this.#length = this.#buffer.length
    return messages
  }
}

function decoded(bytes: Uint8Array): EventMessage {
  try {
    const { headers, body } = codec.decode(bytes)
    const texts = Object.entries(headers).flatMap(([name, { value }]) =>
      typeof value === 'string' ? [[name, value]] : [],
    )
    return { headers: Object.fromEntries(texts), body }
  } catch {
    throw new SseError('an event of the stream is damaged')
  }
}
