import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import { completions } from '../../../src/formats/completions/completions.ts'
import {
  addReplyLosses,
  createReplyLimits,
  formatLossComment,
  type ReplyLimits,
} from '../../../src/formats/reply-losses.ts'
import { generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { compareReplies } from './compare-reply.ts'
import { replyScenarios } from './reply-scenarios.ts'
import { replyModes, roundTripReply } from './round-trip.ts'

function listLosses(events: ReplyEvent[], limits: ReplyLimits): string[] {
  const losses: string[] = []
  for (const event of events) addReplyLosses(losses, event, limits)
  return losses
}

/** Names of differences in the comparison, and the names under which they are reported. */
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

describe.each(generateWireFormats.map((name) => [name] as const))(
  'R31 a reply to a client of %s',
  (client) => {
    test.each(replyScenarios.map(({ name, events }) => [name, events] as const))(
      '%s: everything that is lost is reported, and nothing else',
      (_name, events) => {
        const reported = listLosses(events, wireFormats[client].client.replyLimits)
        for (const mode of replyModes) {
          const differences = compareReplies(collectReply(events), roundTripReply(client, mode, events))
          const losses = names
            .filter(([difference]) => differences.includes(difference))
            .map(([difference]) => difference)
          const reportedDifferences = names.filter(([, name]) => reported.some((loss) => name.test(loss)))
          expect({ mode, reported: reportedDifferences.map(([difference]) => difference) }).toEqual({
            mode,
            reported: losses,
          })
        }
      },
    )
  },
)

const position = { choice: 0, part: 0 }

test('R31 a citation without a URL reaches only clients of its own format', () => {
  const value = { type: 'char_location', cited_text: 'x' }
  const events: ReplyEvent[] = [
    { type: 'part-start', ...position, content: { kind: 'text', text: '' } },
    { type: 'part-delta', ...position, delta: { citation: { native: { wireFormat: 'messages', value } } } },
  ]
  expect(listLosses(events, wireFormats.chat.client.replyLimits)).toEqual(['reply.citations'])
  expect(listLosses(events, wireFormats.messages.client.replyLimits)).toEqual([])
})

test('R31 the Completions format reports content that is not text', () => {
  const call = { kind: 'tool-call', id: 'c', name: 'look', arguments: '{}' } as const
  const events: ReplyEvent[] = [
    { type: 'part-start', ...position, content: call },
    {
      type: 'part-start',
      choice: 0,
      part: 1,
      content: { kind: 'reasoning', text: '', summary: [], signature: 's', format: 'vendor_a-v1' },
    },
  ]
  expect(listLosses(events, completions.replyLimits)).toEqual([
    'reply.tool_calls',
    'reply.reasoning_signature',
  ])
})

test('the number of names is bounded, and the comment stays on one line', () => {
  const events = Array.from({ length: 500 }, (_, part): ReplyEvent => {
    const value = { type: `odd\n\ndata: ${part}` }
    return { type: 'part-start', choice: 0, part, content: { kind: 'opaque', wireFormat: 'messages', value } }
  })
  const losses = listLosses(events, createReplyLimits('chat'))
  expect(losses.length).toBeLessThan(100)
  expect(formatLossComment(losses).trimEnd()).not.toContain('\n')
  expect(formatLossComment([])).toBe('')
})
