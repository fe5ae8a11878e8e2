import { describe, expect, test } from 'bun:test'
import { encodeEventMessage } from '../../test/support/aws-event-stream.ts'
import { AwsEventStreamReader } from './aws-event-stream.ts'

describe('event streams', () => {
  const stream = Buffer.concat([
    encodeEventMessage({ ':message-type': 'event', ':event-type': 'chunk' }, '{"bytes":"e30="}'),
    encodeEventMessage({}, ''),
    encodeEventMessage({ ':message-type': 'exception' }, 'Grüße 🌍'),
  ])
  const read = (pieces: Uint8Array[]) => {
    const reader = new AwsEventStreamReader()
    return pieces
      .flatMap((piece) => reader.push(piece))
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

  test('the same messages come of bytes split anywhere', () => {
    for (let at = 1; at < stream.length; at++) {
      expect(read([stream.subarray(0, at), stream.subarray(at)])).toEqual(whole)
    }
    expect(read([...stream].map((byte) => Uint8Array.of(byte)))).toEqual(whole)
  })

  test('a flipped bit anywhere is noticed or waited for, never read as something else', () => {
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

  test('S13 a length that no message has is refused before anything is kept for it', () => {
    expect(() => new AwsEventStreamReader().push(Buffer.from([0x7f, 0xff, 0xff, 0xff]))).toThrow('too long')
    expect(() => new AwsEventStreamReader().push(Buffer.from([0, 0, 0, 3]))).toThrow('too long')
  })
})
