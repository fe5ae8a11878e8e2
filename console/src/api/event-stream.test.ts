import { expect, test } from 'bun:test'
import { EventParser, readEvents } from './event-stream.ts'

const stream =
  ': a comment\r\n\r\ndata: {"a":"é"}\r\n\r\nevent: x\ndata:one\ndata: two\n\ndata: last\r\rdata: cut'

test('R28: events are the same wherever the bytes are split', async () => {
  const bytes = new TextEncoder().encode(stream)
  for (let at = 0; at <= bytes.length; at++) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(bytes.slice(0, at))
        controller.enqueue(bytes.slice(at))
        controller.close()
      },
    })
    expect(await Array.fromAsync(readEvents(body))).toEqual(['{"a":"é"}', 'one\ntwo', 'last'])
  }
})

test('a line without an end is refused once it is too long', () => {
  const parser = new EventParser()
  expect(() => parser.push('x'.repeat(33_000_000))).toThrow('too long')
})
