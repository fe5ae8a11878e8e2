import { EventStreamCodec } from '@smithy/eventstream-codec'
import { SseError } from './sse.ts'

/** One message of `application/vnd.amazon.eventstream`. */
export interface AwsEventMessage {
  /** The text headers by name: `:message-type`, `:event-type` and the like. */
  headers: Readonly<Record<string, string>>
  body: Uint8Array
}

/** The format allows 16 MiB of payload, headers not included. */
const maxMessageBytes = 17 * 1024 * 1024
/** Two lengths, their checksum, and the checksum of the message. */
const minMessageBytes = 16

const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === 'string' ? bytes : new TextDecoder().decode(bytes)),
  (text) => new TextEncoder().encode(text),
)

/** Splits a byte stream into messages, whatever the chunk boundaries. */
export class AwsEventStreamReader {
  /** Grows by doubling: a message may arrive in any number of chunks. */
  #buffer = new Uint8Array(0)
  #length = 0
  /** Length of the message being received; 0 while unknown. */
  #messageLength = 0

  push(bytes: Uint8Array): AwsEventMessage[] {
    const all = this.#length === 0 ? bytes : this.#append(bytes)
    if (all.length >= (this.#messageLength || 4)) return this.#split(all)
    if (this.#length === 0) this.#append(bytes)
    this.#length = all.length
    return []
  }

  /** The buffered bytes followed by the new ones. */
  #append(bytes: Uint8Array): Uint8Array {
    const length = this.#length + bytes.length
    if (length > this.#buffer.length) {
      const larger = new Uint8Array(2 * length)
      larger.set(this.#buffer.subarray(0, this.#length))
      this.#buffer = larger
    }
    this.#buffer.set(bytes, this.#length)
    return this.#buffer.subarray(0, length)
  }

  #split(all: Uint8Array): AwsEventMessage[] {
    const view = new DataView(all.buffer, all.byteOffset, all.byteLength)
    const messages: AwsEventMessage[] = []
    let at = 0
    this.#messageLength = 0
    while (all.length - at >= 4) {
      const length = view.getUint32(at)
      if (length < minMessageBytes || length > maxMessageBytes)
        throw new SseError('an event of the stream is too long')
      this.#messageLength = length
      if (all.length - at < length) break
      messages.push(decodeMessage(all.subarray(at, at + length)))
      at += length
      this.#messageLength = 0
    }
    // A copy, so that the bytes already read can be freed.
    this.#buffer = all.slice(at)
    this.#length = this.#buffer.length
    return messages
  }
}

function decodeMessage(bytes: Uint8Array): AwsEventMessage {
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
