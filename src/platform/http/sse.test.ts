import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { SseError, type SseFrame, SseReader } from './sse.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

function readAll(bytes: Uint8Array, cuts: number[]): SseFrame[] {
  const reader = new SseReader()
  const frames: SseFrame[] = []
  let from = 0
  for (const cut of [...cuts.toSorted((a, b) => a - b), bytes.length]) {
    frames.push(...reader.push(bytes.subarray(from, cut)))
    from = cut
  }
  return [...frames, ...reader.end()]
}

describe('server-sent events', () => {
  const frames: SseFrame[] = [
    { event: '', data: '{"a":"ä € 😀"}' },
    { event: 'ping', data: '{}' },
    { event: '', data: 'two\nlines' },
    { event: '', data: '[DONE]' },
  ]
  const texts = {
    '\\n':
      'data: {"a":"ä € 😀"}\n\n: a comment\n\nevent: ping\ndata: {}\n\ndata: two\ndata: lines\n\ndata: [DONE]\n\n',
    '\\r\\n':
      'data:{"a":"ä € 😀"}\r\n\r\nevent: ping\r\ndata: {}\r\n\r\ndata: two\r\ndata: lines\r\n\r\ndata: [DONE]\r\n\r\n',
    '\\r': 'data: {"a":"ä € 😀"}\r\revent: ping\rdata: {}\r\rdata: two\rdata: lines\r\rdata: [DONE]\r\r',
  }
  for (const [name, text] of Object.entries(texts)) {
    test(`R28 lines that end in ${name}, split at any bytes`, () => {
      const bytes = bytesOf(text)
      const cut = fc.array(fc.integer({ min: 0, max: bytes.length }))
      fc.assert(fc.property(cut, (cuts) => expect(readAll(bytes, cuts)).toEqual(frames)))
    })
  }

  test('a last event without its blank line is read at the end', () => {
    expect(readAll(bytesOf('data: [DONE]'), [])).toEqual([{ event: '', data: '[DONE]', truncated: true }])
  })

  test('S13 an endless event is rejected', () => {
    const reader = new SseReader()
    const chunk = bytesOf('x'.repeat(1024 * 1024))
    expect(() => {
      for (let i = 0; i < 60; i++) reader.push(chunk)
    }).toThrow(SseError)
  })
})

test('S13 the maximum length of an event can be lower for untrusted servers', () => {
  const reader = new SseReader(10)
  expect(reader.push(bytesOf('data: 1\n\n'))).toEqual([{ event: '', data: '1' }])
  expect(() => reader.push(bytesOf('data: 1234567'))).toThrow(SseError)
})
