import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { collectReply, type Reply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import { replayEvents } from '../../../src/formats/call/replay.ts'
import { generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { compareReplies } from './compare-reply.ts'
import { grammarChecks } from './grammar.ts'
import {
  createChoiceEnd,
  createPartEvents,
  createReplyEvents,
  replyScenarios,
  textPart,
  vendorReasoning,
} from './reply-scenarios.ts'
import { decodeFrames, encodeStream, parseFrames } from './round-trip.ts'

const collectJson = (events: ReplyEvent[]): Reply => JSON.parse(JSON.stringify(collectReply(events)))

const allScenarios = [
  ...replyScenarios,
  ...Object.entries(vendorReasoning).map(([name, parts]) => ({
    name,
    events: createReplyEvents(createPartEvents(parts), [createChoiceEnd('stop')]),
  })),
]

describe('R36 a replayed reply', () => {
  test('has the same content', () => {
    for (const { name, events } of allScenarios) {
      const { usage, ...reply } = collectJson(events)
      expect({ name, ...collectJson(replayEvents({ ...reply, usage })), usage }).toEqual({
        name,
        ...reply,
        usage,
      })
    }
  })

  test.each(generateWireFormats)('is a stream of %s that loses no more than the original', (wireFormat) => {
    for (const { name, events } of allScenarios) {
      const reply = collectJson(events)
      const replayed = encodeStream(wireFormat, replayEvents(reply))
      grammarChecks[wireFormat](parseFrames(replayed))
      const differences = (stream: string) => {
        const received = collectReply(decodeFrames(wireFormat, parseFrames(stream)))
        return compareReplies(reply, { ...received, usage: reply.usage })
      }
      const originalLosses = differences(encodeStream(wireFormat, events))
      const newLosses = differences(replayed).filter((difference) => !originalLosses.includes(difference))
      expect({ name, newLosses }).toEqual({ name, newLosses: [] })
    }
  })

  test('is split without breaking characters', () => {
    const texts = fc.string({ unit: 'grapheme', minLength: 1500, maxLength: 3000 })
    fc.assert(
      fc.property(texts, (whole) => {
        const events = replayEvents(
          collectJson(createReplyEvents(createPartEvents([textPart(whole)]), [createChoiceEnd('stop')])),
        )
        const chunks = events.flatMap((event) =>
          event.type === 'part-delta' ? [event.delta.text ?? ''] : [],
        )
        expect(chunks.length).toBeGreaterThan(1)
        expect(chunks.every((chunk) => chunk.isWellFormed() && chunk.length <= 600)).toBe(true)
        expect(chunks.join('')).toBe(whole)
      }),
      { numRuns: 30 },
    )
  })
})
