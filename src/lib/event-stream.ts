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
  #pieces: Uint8Array[] = []
  #length = 0
  /** How long the message is that is being received; 0 while that is not known. */
  #wanted = 0

  push(bytes: Uint8Array): EventMessage[] {
    this.#pieces.push(bytes)
    this.#length += bytes.length
    if (this.#length < (this.#wanted || 4)) return []
    const all = this.#pieces.length === 1 ? bytes : Buffer.concat(this.#pieces)
    return this.#cut(all)
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
    this.#pieces = at < all.length ? [all.slice(at)] : []
    this.#length = all.length - at
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
