import { crc32 } from 'node:zlib'

/** The framing written out: lengths, checksums and headers of type 7. */
export function encodeEventMessage(headers: Record<string, string>, body: string | Uint8Array): Buffer {
  const head = Buffer.concat(
    Object.entries(headers).map(([name, value]) => {
      const text = Buffer.from(value)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(text.length)
      return Buffer.concat([Buffer.from([name.length]), Buffer.from(name), Buffer.from([7]), length, text])
    }),
  )
  const payload = Buffer.from(body)
  const prelude = Buffer.alloc(12)
  prelude.writeUInt32BE(16 + head.length + payload.length, 0)
  prelude.writeUInt32BE(head.length, 4)
  prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
  const message = Buffer.concat([prelude, head, payload])
  const end = Buffer.alloc(4)
  end.writeUInt32BE(crc32(message))
  return Buffer.concat([message, end])
}

/** An event of the Messages format as Bedrock sends it. */
export function encodeBedrockChunk(event: unknown): Buffer {
  const bytes = Buffer.from(JSON.stringify(event)).toString('base64')
  const headers = {
    ':event-type': 'chunk',
    ':content-type': 'application/json',
    ':message-type': 'event',
  }
  // The vendor pads its events to hide their length.
  return encodeEventMessage(headers, JSON.stringify({ bytes, p: 'abcdefghijkl' }))
}

/** An event of ConverseStream. */
export function encodeConverseEvent([name, event]: readonly [string, object]): Buffer {
  const headers = { ':event-type': name, ':content-type': 'application/json', ':message-type': 'event' }
  return encodeEventMessage(headers, JSON.stringify({ ...event, p: 'abcdefghijkl' }))
}

export function encodeBedrockException(type: string, message: string): Buffer {
  const headers = {
    ':exception-type': type,
    ':content-type': 'application/json',
    ':message-type': 'exception',
  }
  return encodeEventMessage(headers, JSON.stringify({ message }))
}
