import { describe, expect, test } from 'bun:test'
import { collectReply, type ReplyEvent } from '../../call/event.ts'
import { generateDialects } from '../../catalogue/vocabulary.ts'
import { dialects } from '../all.ts'
import { completions } from '../completions/completions.ts'
import { addReplyLosses, createReplyLimits, formatLossComment, type ReplyLimits } from '../reply-losses.ts'
import { compareReplies } from './compare-reply.ts'
import { replyScenarios } from './reply-scenarios.ts'
import { replyModes, roundTripReply } from './round-trip.ts'

function lostIn(events: ReplyEvent[], limits: ReplyLimits): string[] {
  const lost: string[] = []
  for (const event of events) addReplyLosses(lost, event, limits)
  return lost
}

/** What a comparison calls a thing that is not there, against the name it is reported with. */
const names: [difference: string, reported: RegExp][] = [
  ['opaque', /^reply\.block:/],
  ['n', /^reply\.n$/],
  ['logprobs', /^reply\.logprobs$/],
  ['audio', /^reply\.audio$/],
  ['image', /^reply\.image$/],
  ['citations', /^reply\.citations$/],
  ['stop_sequence', /^reply\.stop_sequence$/],
  ['explanation', /^reply\.explanation$/],
]

describe.each(generateDialects.map((name) => [name] as const))('R31 a reply to a client of %s', (client) => {
  test.each(replyScenarios.map(({ name, events }) => [name, events] as const))(
    '%s: what it cannot be told is named, and nothing else',
    (_name, events) => {
      const reported = lostIn(events, dialects[client].client.replyLimits)
      for (const way of replyModes) {
        const found = compareReplies(collectReply(events), roundTripReply(client, way, events))
        const lost = names
          .filter(([difference]) => found.includes(difference))
          .map(([difference]) => difference)
        const told = names.filter(([, name]) => reported.some((word) => name.test(word)))
        expect({ way, told: told.map(([difference]) => difference) }).toEqual({ way, told: lost })
      }
    },
  )
})

const at = { choice: 0, part: 0 }

test('R31 a citation without an address is only for clients of its own format', () => {
  const value = { type: 'char_location', cited_text: 'x' }
  const events: ReplyEvent[] = [
    { type: 'part-start', ...at, content: { kind: 'text', text: '' } },
    { type: 'part-delta', ...at, delta: { citation: { native: { dialect: 'messages', value } } } },
  ]
  expect(lostIn(events, dialects.chat.client.replyLimits)).toEqual(['reply.citations'])
  expect(lostIn(events, dialects.messages.client.replyLimits)).toEqual([])
})

test('R31 the older text format names what is no text', () => {
  const call = { kind: 'tool-call', id: 'c', name: 'look', arguments: '{}' } as const
  const events: ReplyEvent[] = [
    { type: 'part-start', ...at, content: call },
    {
      type: 'part-start',
      choice: 0,
      part: 1,
      content: { kind: 'reasoning', text: '', summary: [], signature: 's', format: 'vendor_a-v1' },
    },
  ]
  expect(lostIn(events, completions.replyLimits)).toEqual(['reply.tool_calls', 'reply.reasoning_signature'])
})

test('names are few, and a comment stays a comment', () => {
  const events = Array.from({ length: 500 }, (_, part): ReplyEvent => {
    const value = { type: `odd\n\ndata: ${part}` }
    return { type: 'part-start', choice: 0, part, content: { kind: 'opaque', dialect: 'messages', value } }
  })
  const lost = lostIn(events, createReplyLimits('chat'))
  expect(lost.length).toBeLessThan(100)
  expect(formatLossComment(lost).trimEnd()).not.toContain('\n')
  expect(formatLossComment([])).toBe('')
})
