import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { collectReply, type Reply, type ReplyEvent } from '../../call/event.ts'
import { replayEvents } from '../../call/replay.ts'
import { generateDialects } from '../../catalogue/vocabulary.ts'
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

const told = (events: ReplyEvent[]): Reply => JSON.parse(JSON.stringify(collectReply(events)))

const stories = [
  ...replyScenarios,
  ...Object.entries(vendorReasoning).map(([name, parts]) => ({
    name,
    events: createReplyEvents(createPartEvents(parts), [createChoiceEnd('stop')]),
  })),
]

describe('R36 a reply that is told once more', () => {
  test('says the same', () => {
    for (const { name, events } of stories) {
      const { usage, ...reply } = told(events)
      expect({ name, ...told(replayEvents({ ...reply, usage })), usage }).toEqual({ name, ...reply, usage })
    }
  })

  test.each(generateDialects)('is a stream of %s that says no less than the first one', (dialect) => {
    for (const { name, events } of stories) {
      const reply = told(events)
      const again = encodeStream(dialect, replayEvents(reply))
      grammarChecks[dialect](parseFrames(again))
      const differences = (stream: string) => {
        const read = collectReply(decodeFrames(dialect, parseFrames(stream)))
        return compareReplies(reply, { ...read, usage: reply.usage })
      }
      const known = differences(encodeStream(dialect, events))
      const lost = differences(again).filter((difference) => !known.includes(difference))
      expect({ name, lost }).toEqual({ name, lost: [] })
    }
  })

  test('comes in pieces that do not cut characters', () => {
    const said = fc.string({ unit: 'grapheme', minLength: 1500, maxLength: 3000 })
    fc.assert(
      fc.property(said, (whole) => {
        const events = replayEvents(
          told(createReplyEvents(createPartEvents([textPart(whole)]), [createChoiceEnd('stop')])),
        )
        const pieces = events.flatMap((event) =>
          event.type === 'part-delta' ? [event.delta.text ?? ''] : [],
        )
        expect(pieces.length).toBeGreaterThan(1)
        expect(pieces.every((piece) => piece.isWellFormed() && piece.length <= 600)).toBe(true)
        expect(pieces.join('')).toBe(whole)
      }),
      { numRuns: 30 },
    )
  })
})
