import { describe, expect, test } from 'bun:test'
import {
  cost,
  createContext,
  decodeFrames,
  parseFrames,
} from '../../../test/formats/conformance/round-trip.ts'
import { vendorReply } from '../../../test/support/replies.ts'
import { wireFormats } from '../../formats/all.ts'
import { collectReply, type ReplyEvent } from '../../formats/call/event.ts'
import { zeroUsage } from '../../formats/call/usage.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../formats/vocabulary.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import type { SseFrame } from '../../platform/http/sse.ts'
import { formats } from '../request/formats.ts'
import { createRelay } from './relay.ts'
import { ReplyPipeline, type ReplyTransform } from './transforms.ts'

type RelayParameters = Parameters<typeof createRelay>

/** A relay between a client and an upstream of one format. */
function createTestRelay(wireFormat: GenerateWireFormat, pipeline: ReplyPipeline) {
  const attempt = {
    candidate: { endpoint: { provider: {} } },
    translation: { wireFormat: wireFormats[wireFormat], isPassThrough: true },
    context: createContext(),
    pipeline,
  }
  return createRelay(
    { format: formats[wireFormat] } as unknown as RelayParameters[0],
    attempt as unknown as RelayParameters[1],
  )
}

function framesOf(wireFormat: GenerateWireFormat): SseFrame[] {
  return parseFrames(vendorReply(wireFormat, 'text').frames.join(''))
}

async function relayReply(wireFormat: GenerateWireFormat, pipeline: ReplyPipeline): Promise<string> {
  const relay = createTestRelay(wireFormat, pipeline)
  let text = ''
  for (const frame of framesOf(wireFormat)) text += await relay.pass(frame)
  text += (await relay.close?.()) ?? ''
  return text + (await relay.end(relay.summary.usage ?? zeroUsage, cost))
}

function textOf(events: readonly ReplyEvent[]): string {
  const parts = collectReply(events).choices.flatMap((choice) => choice.parts)
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('')
}

/** Holds the last characters back, as a filter for matches that span deltas does. */
class UpperCase implements ReplyTransform {
  #held = ''

  transform(event: ReplyEvent): ReplyEvent[] {
    if (event.type === 'part-delta' && event.delta.text !== undefined) {
      const text = this.#held + event.delta.text.toUpperCase()
      this.#held = text.slice(-3)
      return [{ ...event, delta: { ...event.delta, text: text.slice(0, -3) } }]
    }
    if (event.type !== 'part-end') return [event]
    const { choice, part } = event
    return [{ type: 'part-delta', choice, part, delta: { text: this.#held } }, event]
  }

  end(): ReplyEvent[] {
    return []
  }
}

describe.each([...generateWireFormats])('a reply from %s to a client of the same format', (wireFormat) => {
  const original = textOf(decodeFrames(wireFormat, framesOf(wireFormat)))

  test('reaches the client as its transforms leave it, and observers see the same', async () => {
    const observed: ReplyEvent[] = []
    const observer = { add: (event: ReplyEvent) => void observed.push(event) }
    const stream = await relayReply(wireFormat, new ReplyPipeline([new UpperCase()], [observer]))
    const received = decodeFrames(wireFormat, parseFrames(stream))
    expect(textOf(received)).toBe(original.toUpperCase())
    expect(textOf(observed)).toBe(original.toUpperCase())
    expect(stream).not.toContain(original)
  })

  test('is the same byte for byte with and without an observer', async () => {
    const observed: ReplyEvent[] = []
    const observer = { add: (event: ReplyEvent) => void observed.push(event) }
    const plain = await relayReply(wireFormat, new ReplyPipeline([], []))
    expect(await relayReply(wireFormat, new ReplyPipeline([], [observer]))).toBe(plain)
    expect(textOf(observed)).toBe(original)
  })

  test('ends with the error that a transform throws', async () => {
    const block: ReplyTransform = {
      transform: (event) => {
        if (event.type === 'part-delta') throw gatewayError('guardrail_blocked', 'Blocked.')
        return [event]
      },
      end: () => [],
    }
    await expect(relayReply(wireFormat, new ReplyPipeline([block], []))).rejects.toThrow('Blocked.')
  })
})

test('transforms run in order, and what one holds back passes those after it', async () => {
  const append = (suffix: string): ReplyTransform => ({
    transform: (event) => [event],
    end: () => [{ type: 'part-delta', choice: 0, part: 0, delta: { text: suffix } }],
  })
  const mark: ReplyTransform = {
    transform: (event) =>
      event.type === 'part-delta' ? [{ ...event, delta: { text: `<${event.delta.text}>` } }] : [event],
    end: () => [],
  }
  const pipeline = new ReplyPipeline([append('a'), mark, append('b')], [])
  const ended = await pipeline.end()
  expect(ended.map((event) => (event.type === 'part-delta' ? event.delta.text : ''))).toEqual(['<a>', 'b'])
  expect(await pipeline.end()).toEqual([])
})
