import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { collect, type Reply, type ReplyEvent } from '../../call/event.ts'
import { eventsOf } from '../../call/replay.ts'
import { generateDialects } from '../../catalog/vocabulary.ts'
import { framesOf, readFrames, streamed } from './carry.ts'
import { replyDifferences } from './compare-reply.ts'
import { grammars } from './grammar.ts'
import { end, partEvents, replyOf, replyStories, text, vendorThinking } from './reply-stories.ts'

const told = (events: ReplyEvent[]): Reply => JSON.parse(JSON.stringify(collect(events)))

const stories = [
  ...replyStories,
  ...Object.entries(vendorThinking).map(([name, parts]) => ({
    name,
    events: replyOf(partEvents(parts), [end('stop')]),
  })),
]

describe('R36 a reply that is told once more', () => {
  test('says the same', () => {
    for (const { name, events } of stories) {
      const { usage, ...reply } = told(events)
      expect({ name, ...told(eventsOf({ ...reply, usage })), usage }).toEqual({ name, ...reply, usage })
    }
  })

  test.each(generateDialects)('is a stream of %s that says no less than the first one', (dialect) => {
    for (const { name, events } of stories) {
      const reply = told(events)
      const again = streamed(dialect, eventsOf(reply))
      grammars[dialect](framesOf(again))
      const differences = (stream: string) => {
        const read = collect(readFrames(dialect, framesOf(stream)))
        return replyDifferences(reply, { ...read, usage: reply.usage })
      }
      const known = differences(streamed(dialect, events))
      const lost = differences(again).filter((difference) => !known.includes(difference))
      expect({ name, lost }).toEqual({ name, lost: [] })
    }
  })

  test('comes in pieces that do not cut characters', () => {
    const said = fc.string({ unit: 'grapheme', minLength: 1500, maxLength: 3000 })
    fc.assert(
      fc.property(said, (whole) => {
        const events = eventsOf(told(replyOf(partEvents([text(whole)]), [end('stop')])))
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
