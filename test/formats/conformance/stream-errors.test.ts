import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply } from '../../../src/formats/call/event.ts'
import { generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { gatewayError } from '../../../src/platform/errors/gateway-error.ts'
import { SseReader } from '../../../src/platform/http/sse.ts'
import { createContext } from './round-trip.ts'

const message = 'The engine ran out of memory.'

/** The forms in which vendors, and proxies in front of them, put an error into a stream. */
const forms: [string, string][] = [
  ['an error event', `event: error\ndata: {"error":{"message":"${message}"}}\n\n`],
  ['an error event with the fields of the error', `event: error\ndata: {"message":"${message}"}\n\n`],
  ['an error event with a text', `event: error\ndata: ${message}\n\n`],
  ['an error that is a text', `data: {"error":"${message}"}\n\n`],
  ['an error line', `error: {"message":"${message}"}\n\n`],
  ['an error line with a text', `error: ${message}\n\n`],
  ['a bare error object', `{"error":{"message":"${message}"}}\n\n`],
  ['a bare error object on several lines', `[{\n  "error": {\n    "message": "${message}"\n  }\n}]\n`],
]

describe.each(generateWireFormats)('I7 an error in a stream of %s', (name) => {
  test.each(forms)('is reported as the error it is: %s', (_, text) => {
    const sse = new SseReader()
    const frames = [...sse.push(new TextEncoder().encode(text)), ...sse.end()]
    const reader = wireFormats[name].upstream.createReader()
    const reply = collectReply([...frames.flatMap((frame) => reader.read(frame)), ...reader.end()])
    expect(reply.failure?.message).toBe(message)
    const relay = wireFormats[name].passthrough.createRelay(createContext())
    for (const frame of frames) relay.pass(frame)
    expect(relay.summary.failure?.message).toBe(message)
  })
})

test.each(['chat', 'messages', 'responses'] as const)(
  'I7 the error event of a stream of %s says so',
  (name) => {
    const relay = wireFormats[name].passthrough.createRelay(createContext())
    const writer = wireFormats[name].client.createWriter(createContext())
    for (const text of [relay.fail(gatewayError('unavailable')), writer.fail(gatewayError('unavailable'))])
      expect(text).toContain('"finish_reason":"error"')
  },
)
