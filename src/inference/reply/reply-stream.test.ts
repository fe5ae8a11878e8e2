import { expect, test } from 'bun:test'
import { createContext } from '../../../test/formats/conformance/round-trip.ts'
import type { ReplyEvent } from '../../formats/call/event.ts'
import type { ReplyWriter } from '../../formats/wire-format.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { CoarseTimer } from '../../platform/time/coarse-timer.ts'
import { TimeSlicer } from '../../platform/time/time-slicer.ts'
import { formats } from '../request/formats.ts'
import { UpstreamExchange } from '../upstream/exchange.ts'
import { EventEncoder } from './event-encoder.ts'
import { EventStream } from './reply-stream.ts'
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
    exchanges: new Set(),
    timer: new CoarseTimer(),
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
    exchanges: new Set(),
    timer: new CoarseTimer(),
  })
  const bounds = { bytes: 100, events: 100, parts: 100, characters: 100 }
  const stream = new EventStream([event].values(), encoder, exchange, {
    timeSlicer: new TimeSlicer(),
    bounds,
  })
  await expect(stream.next()).rejects.toMatchObject({ code: 'guardrail_blocked' })
})
