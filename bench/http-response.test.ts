import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { HttpResponseReader } from './http-response.ts'

const streamed =
  'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n' +
  '3\r\n: \n\r\n10\r\ndata: {"a":1}\n\n  \r\n0\r\n\r\n'
const whole = 'HTTP/1.1 402 Payment Required\r\ncontent-length: 13\r\n\r\n{"error":"x"}'

function read(text: string, cuts: number[]): HttpResponseReader {
  const reply = new HttpResponseReader()
  const offsets = [...new Set(cuts.map((cut) => cut % text.length)), text.length].sort((a, b) => a - b)
  let from = 0
  for (const to of offsets) {
    expect(reply.done).toBe(false)
    reply.feed(Buffer.from(text.slice(from, to)))
    from = to
  }
  return reply
}

describe('the response reader of the load generator', () => {
  test('finds the end of a chunked and of a plain response, whatever the packet boundaries', () => {
    const cuts = fc.array(fc.nat(), { maxLength: 12 })
    fc.assert(fc.property(cuts, (at) => read(streamed, at).done && read(whole, at).done))
  })

  test('distinguishes an event from a comment', () => {
    const reply = new HttpResponseReader()
    const [head = '', rest = ''] = streamed.split('10\r\n')
    reply.feed(Buffer.from(head))
    expect(reply.hasEvent).toBe(false)
    reply.feed(Buffer.from(`10\r\n${rest}`))
    expect(reply).toMatchObject({ hasEvent: true, done: true, status: 200 })
  })

  test('has the start of an error body', () => {
    expect(read(whole, [5, 50])).toMatchObject({ status: 402, bodyStart: '{"error":"x"}' })
  })
})
