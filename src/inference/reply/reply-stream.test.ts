import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createContext } from '../../../test/formats/conformance/round-trip.ts'
import { exchangeSettings } from '../../../test/support/time-limits.ts'
import { wireFormats } from '../../formats/all.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ReplyWriter } from '../../formats/wire-format.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { SseReader } from '../../platform/http/sse.ts'
import { CoarseTimer } from '../../platform/time/coarse-timer.ts'
import { TimeSlicer } from '../../platform/time/time-slicer.ts'
import { RedactedFrames } from '../failures/redact-secrets.ts'
import { formats } from '../request/formats.ts'
import { UpstreamExchange } from '../upstream/exchange.ts'
import { EventEncoder } from './event-encoder.ts'
import { EventStream, UpstreamStream } from './reply-stream.ts'
import { ReplyPipeline } from './transforms.ts'

test('an event beyond the limits of a reply is not written', async () => {
  const written: ReplyEvent[] = []
  const writer: ReplyWriter = {
    write: (event) => {
      written.push(event)
      return ''
    },
    end: () => '',
    fail: () => '',
    finalBody: null,
  }
  const events: ReplyEvent[] = [
    { type: 'part-start', choice: 0, part: 0, content: { kind: 'text', text: '' } },
    { type: 'part-delta', choice: 0, part: 0, delta: { text: 'too long' } },
  ]
  const encoder = new EventEncoder(writer, formats.chat.replyCodec.replyLimits, new ReplyPipeline([], []))
  const exchange = new UpstreamExchange(new AbortController().signal, {
    upstreams: { exchanges: new Set() },
    timer: new CoarseTimer(),
    settings: exchangeSettings,
  })
  const bounds = { bytes: 100, events: 100, parts: 100, characters: 3 }
  const stream = new EventStream(events.values(), encoder, exchange, { timeSlicer: new TimeSlicer(), bounds })
  await stream.next()
  await expect(stream.next()).rejects.toThrow('too large')
  expect(written).toEqual(events.slice(0, 1))
})

test('an error that a transform throws ends the stream as it is, not as a failure of the provider', async () => {
  const block = {
    transform: () => {
      throw gatewayError('guardrail_blocked', 'Blocked.')
    },
    end: () => [],
  }
  const event: ReplyEvent = { type: 'part-delta', choice: 0, part: 0, delta: { text: 'secret' } }
  const { replyCodec } = formats.chat
  const encoder = new EventEncoder(
    replyCodec.createWriter(createContext()),
    replyCodec.replyLimits,
    new ReplyPipeline([block], []),
  )
  const exchange = new UpstreamExchange(new AbortController().signal, {
    upstreams: { exchanges: new Set() },
    timer: new CoarseTimer(),
    settings: exchangeSettings,
  })
  const bounds = { bytes: 100, events: 100, parts: 100, characters: 100 }
  const stream = new EventStream([event].values(), encoder, exchange, {
    timeSlicer: new TimeSlicer(),
    bounds,
  })
  await expect(stream.next()).rejects.toMatchObject({ code: 'guardrail_blocked' })
})

const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1, model: 'vendor-model' }
const secret = 'sk-vendor-secret-0123456789'

/** Relays a stream that arrives in these chunks: the text for the client, and the summary of the reply. */
async function relay(chunks: readonly Uint8Array[]) {
  const exchange = new UpstreamExchange(new AbortController().signal, {
    upstreams: { exchanges: new Set() },
    timer: new CoarseTimer(),
    settings: exchangeSettings,
  })
  const bounds = { bytes: 1e6, events: 1e6, parts: 1e6, characters: 1e6 }
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  const stream = new UpstreamStream(
    new Response(body),
    wireFormats.chat.passthrough.createRelay({ ...createContext(), isPlain: true }),
    exchange,
    new RedactedFrames(new SseReader(), () => [secret], 1e6),
    { timeSlicer: new TimeSlicer(), bounds },
  )
  let text = ''
  for (let next: string | null = ''; next !== null && !stream.summary.failure; text += next ?? '')
    next = await stream.next()
  return { text, summary: stream.summary }
}

/** Mostly deltas that differ only in their text, as vendors send them. */
const delta = fc.oneof(
  { weight: 8, arbitrary: fc.record({ content: fc.string({ unit: 'grapheme', maxLength: 8 }) }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom({ content: null }, { content: 'a"b\\c\n' }, { content: secret }, {}),
  },
  { weight: 1, arbitrary: fc.record({ reasoning_content: fc.string({ maxLength: 4 }) }) },
)
const event = fc.record({
  delta,
  extra: fc.oneof(
    { weight: 9, arbitrary: fc.constant({}) },
    fc.constantFrom({ error: null }, { error: [] }, { usage: null }, { error: { message: secret } }),
  ),
})

test('what a client is sent of a stream does not depend on how its bytes arrive', async () => {
  const property = fc.asyncProperty(
    fc.array(event, { minLength: 3, maxLength: 12 }),
    fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 }),
    async (events, cuts) => {
      const frames = events.map(({ delta, extra }) => {
        const choices = [{ index: 0, delta, finish_reason: null }]
        return Buffer.from(`data: ${JSON.stringify({ ...head, choices, ...extra })}\n\n`)
      })
      const bytes = Buffer.concat(frames)
      const positions = [...new Set([0, ...cuts.map((cut) => cut % bytes.length), bytes.length])].sort(
        (a, b) => a - b,
      )
      const parts = positions.slice(1).map((to, index) => bytes.subarray(positions[index], to))
      const inEvents = await relay(frames)
      expect(await relay(parts)).toEqual(inEvents)
      expect(await relay([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(inEvents)
    },
  )
  await fc.assert(property, { numRuns: 200, seed: 1 })
})

test('S12 a secret in an event with an error is redacted, though the event resembles the one before', async () => {
  const encode = (content: string) =>
    Buffer.from(
      `data: ${JSON.stringify({ ...head, choices: [{ index: 0, delta: { content } }], error: [] })}\n\n`,
    )
  const { text } = await relay(['a', 'b', 'c', secret].map(encode))
  expect(text).not.toContain(secret)
})
