import { describe, expect, test } from 'bun:test'
import { type ScenarioName, scenarios, vendorReply } from '../../../test/support/replies.ts'
import { collect, type ReplyEvent } from '../../call/event.ts'
import { type GenerateDialect, generateDialects } from '../../catalog/vocabulary.ts'
import { fail } from '../../errors.ts'
import type { JsonObject } from '../../lib/loose.ts'
import type { SseFrame } from '../../lib/sse.ts'
import { dialects } from '../all.ts'
import { bill, factsOf, framesOf, overTheWire, readFrames } from './carry.ts'
import { clientBodies } from './client-bodies.ts'
import { replyDifferences } from './compare-reply.ts'
import { targetOf } from './targets.ts'

const names = Object.keys(scenarios) as ScenarioName[]

/** The frames of an upstream as a client of the same format gets them. */
function relayed(dialect: GenerateDialect, frames: SseFrame[]) {
  const relay = dialects[dialect].same.relay(factsOf())
  const passed = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
  const { usage } = relay.seen
  if (!usage) throw new Error('the relay saw no usage')
  return { seen: relay.seen, stream: passed + relay.end(usage, bill) }
}

/** A field that nobody knows, in every object of the stream. */
function withExtra(frames: SseFrame[]): SseFrame[] {
  return frames.map((frame) =>
    frame.data === '[DONE]'
      ? frame
      : {
          ...frame,
          data: JSON.stringify({ ...(JSON.parse(frame.data) as JsonObject), vendor_extra: { a: [1] } }),
        },
  )
}

describe.each(generateDialects.map((name) => [name] as const))(
  'client and upstream both of %s',
  (dialect) => {
    test.each(names.map((name) => [name] as const))(
      'R31 the relayed stream says what the upstream said: %s',
      (name) => {
        const frames = framesOf(vendorReply(dialect, name).frames.join(''))
        const sent = collect(readFrames(dialect, frames))
        const { stream, seen } = relayed(dialect, frames)
        const got = collect(readFrames(dialect, framesOf(stream)))
        expect(replyDifferences(sent, got)).toEqual([])
        expect(seen).toMatchObject({ complete: true, failure: null, content: true, usage: sent.usage })
        expect(seen.finishes[0]?.reason).toBe(sent.choices[0]?.end?.reason ?? '')
        expect(got.usage?.reportedCost).toBe(bill.cost)
      },
    )

    test.each(names.map((name) => [name] as const))(
      'R31 the relayed whole reply says what the upstream said: %s',
      (name) => {
        const { body } = vendorReply(dialect, name)
        const sent = collect(dialects[dialect].upstream.decodeReply(body))
        if (!sent.usage) throw new Error('no usage')
        const given = { ...body, vendor_extra: { a: [1] } }
        const passed = overTheWire(dialects[dialect].same.passReply(given, factsOf(), bill, sent.usage))
        const got = collect(dialects[dialect].upstream.decodeReply(passed))
        expect(replyDifferences(sent, got)).toEqual([])
        expect(passed.vendor_extra).toEqual({ a: [1] })
        expect(got.usage?.reportedCost).toBe(bill.cost)
      },
    )

    test('R31 fields of a stream that nobody knows stay in it', () => {
      const frames = withExtra(framesOf(vendorReply(dialect, 'toolCalls').frames.join('')))
      const { stream } = relayed(dialect, frames)
      const told = framesOf(stream).filter(({ data }) => data !== '[DONE]')
      const without = told.filter(({ data }) => (JSON.parse(data) as JsonObject).vendor_extra === undefined)
      expect(without.map(({ data }) => data)).toEqual([])
    })

    test('R31 fields of a request that nobody knows reach the upstream, our own do not', () => {
      for (const body of Object.values(clientBodies[dialect])) {
        const given = {
          ...body,
          vendor_extra: { deep: [1, { a: null }] },
          provider: { sort: 'price' },
          plugins: [],
        }
        const { body: passed, dropped } = dialects[dialect].same.passRequest(given, targetOf(dialect))
        expect(overTheWire(passed)).toMatchObject({ vendor_extra: { deep: [1, { a: null }] } })
        expect(dropped).not.toContain('vendor_extra')
        expect(passed).not.toHaveProperty('provider')
        expect(passed).not.toHaveProperty('plugins')
      }
    })

    test('R33 a relayed stream that breaks off ends with an error', () => {
      const frames = framesOf(vendorReply(dialect, 'toolCalls').frames.join(''))
      for (let count = 0; count < frames.length - 3; count++) {
        const relay = dialects[dialect].same.relay(factsOf())
        const passed = frames.slice(0, count).map((frame) => relay.pass(frame))
        const text =
          passed.join('') + (relay.close?.() ?? '') + relay.fail(fail('upstream_failed', 'It broke off.'))
        const events: ReplyEvent[] = readFrames(dialect, framesOf(text))
        expect(relay.seen.complete).toBe(false)
        expect(collect(events)).toMatchObject({
          complete: false,
          failure: { message: expect.stringContaining('It broke off.') },
        })
      }
    })
  },
)
