import { describe, expect, test } from 'bun:test'
import { encodeEventMessage } from '../../../test/support/aws-event-stream.ts'
import { AwsEventStreamReader } from './aws-event-stream.ts'

describe('event streams', () => {
  const stream = Buffer.concat([
    encodeEventMessage({ ':message-type': 'event', ':event-type': 'chunk' }, '{"bytes":"e30="}'),
    encodeEventMessage({}, ''),
    encodeEventMessage({ ':message-type': 'exception' }, 'Grüße 🌍'),
  ])
  const read = (chunks: Uint8Array[]) => {
    const reader = new AwsEventStreamReader()
    return chunks
      .flatMap((chunk) => reader.push(chunk))
      .map(({ headers, body }) => [headers, Buffer.from(body).toString()])
  }
  const whole = read([stream])

  test('messages are read, with their headers', () => {
    expect(whole).toEqual([
      [{ ':message-type': 'event', ':event-type': 'chunk' }, '{"bytes":"e30="}'],
      [{}, ''],
      [{ ':message-type': 'exception' }, 'Grüße 🌍'],
    ])
  })

  test('chunk boundaries do not change the messages', () => {
    for (let at = 1; at < stream.length; at++) {
      expect(read([stream.subarray(0, at), stream.subarray(at)])).toEqual(whole)
    }
    expect(read([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  test('a flipped bit is an error or an incomplete message, never another message', () => {
    const [first] = whole
    const message = encodeEventMessage(...(first as [Record<string, string>, string]))
    for (let at = 0; at < message.length; at++) {
      const damaged = Buffer.from(message)
      damaged[at] = (damaged[at] ?? 0) ^ 1
      try {
        expect(read([damaged])).toEqual([])
      } catch (error) {
        expect(String(error)).toMatch(/damaged|too long/)
      }
    }
  })

  test('S13 an invalid length is rejected before anything is buffered', () => {
    expect(() => new AwsEventStreamReader().push(Buffer.from([0x7f, 0xff, 0xff, 0xff]))).toThrow('too long')
    expect(() => new AwsEventStreamReader().push(Buffer.from([0, 0, 0, 3]))).toThrow('too long')
  })
})
