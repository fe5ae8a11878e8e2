import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { collectReply, type PartDelta, type ReplyEvent } from '../../formats/call/event.ts'
import type { OutputPart } from '../../formats/call/part.ts'
import { Placeholders } from '../../governance/filters/placeholders.ts'
import { ReplyPipeline } from '../reply/transforms.ts'
import { PlaceholderRestorer } from './placeholder-restorer.ts'

const values = ['ada@example.com', 'Ada "the first"\nLovelace\\', 'ünï🙂']

function createPlaceholders(): Placeholders {
  const placeholders = new Placeholders()
  placeholders.exclude([{ text: '[EMAIL_1]', place: { part: 'text', role: 'user', message: 0 } }])
  for (const value of values) placeholders.assign('[EMAIL]', value)
  return placeholders
}

const tokens = [
  '[EMAIL_2]',
  '[EMAIL_3]',
  '[email_4]',
  '[EMAIL_1]',
  '[EMAIL_',
  '[',
  ']',
  'EMAIL_2',
  ' text 🙂 ',
]

function restoreAll(text: string, toText: (value: string) => string): string {
  const numbers = new Map(values.map((value, index) => [String(index + 2), toText(value)]))
  return text.replace(/\[email_(\d)\]/gi, (written, number) => numbers.get(number) ?? written)
}

/** A part whose field arrives in pieces that end at the given places. */
function toEvents(content: OutputPart, field: keyof PartDelta, text: string, cuts: number[]): ReplyEvent[] {
  const places = [...new Set([...cuts.map((cut) => cut % (text.length + 1)), text.length])].sort(
    (a, b) => a - b,
  )
  const pieces = places.map((end, index) => text.slice(places[index - 1] ?? 0, end))
  const at = { choice: 0, part: 0 }
  return [
    { type: 'part-start', ...at, content },
    ...pieces.map((piece) => ({ type: 'part-delta' as const, ...at, delta: { [field]: piece } })),
    { type: 'part-end', ...at },
    { type: 'choice-end', choice: 0, reason: 'stop', native: null },
    { type: 'reply-end' },
  ]
}

async function run(events: ReplyEvent[], isJson = false) {
  const observed: ReplyEvent[] = []
  const restorer = new PlaceholderRestorer(createPlaceholders(), isJson)
  const pipeline = new ReplyPipeline([], [{ add: (event) => void observed.push(event) }], restorer)
  const sent: ReplyEvent[] = []
  for (const event of events) sent.push(...(await pipeline.push(event)))
  sent.push(...(await pipeline.end()))
  return { observed, sent, part: collectReply(sent).choices[0]?.parts[0], losses: pipeline.losses }
}

const call: OutputPart = { kind: 'tool-call', id: 'call_1', name: 'send', arguments: '' }
const fields: [string, OutputPart, keyof PartDelta, (part: OutputPart | undefined) => unknown, boolean][] = [
  ['text', { kind: 'text', text: '' }, 'text', (part) => part?.kind === 'text' && part.text, false],
  [
    'a refusal',
    { kind: 'refusal', text: '' },
    'text',
    (part) => part?.kind === 'refusal' && part.text,
    false,
  ],
  [
    'reasoning',
    { kind: 'reasoning', text: '', summary: [], format: 'unknown' },
    'text',
    (part) => part?.kind === 'reasoning' && part.text,
    false,
  ],
  [
    'a summary of reasoning',
    { kind: 'reasoning', text: '', summary: [], format: 'unknown' },
    'summary',
    (part) => part?.kind === 'reasoning' && part.summary.join(''),
    false,
  ],
  ['arguments', call, 'arguments', (part) => part?.kind === 'tool-call' && part.arguments, true],
  [
    'the text of a custom tool',
    { ...call, custom: true },
    'arguments',
    (part) => part?.kind === 'tool-call' && part.arguments,
    false,
  ],
]

describe('restored replies', () => {
  test.each(fields)('%s, split anywhere', async (_, content, field, read, isEscaped) => {
    const toText = isEscaped
      ? (value: string) => JSON.stringify(value).slice(1, -1)
      : (value: string) => value
    const property = fc.asyncProperty(
      fc.array(fc.constantFrom(...tokens), { maxLength: 8 }),
      fc.array(fc.nat(200), { maxLength: 12 }),
      async (words, cuts) => {
        const text = words.join('')
        const { part, observed } = await run(toEvents(content, field, text, cuts))
        expect(read(part)).toBe(restoreAll(text, toText))
        expect(read(collectReply(observed).choices[0]?.parts[0])).toBe(text)
      },
    )
    await fc.assert(property)
  })

  test('only what may begin a placeholder is held back', async () => {
    const events = toEvents(
      { kind: 'text', text: '' },
      'text',
      'see [1] or [EMAIL_2] now',
      [3, 6, 11, 14, 20],
    )
    const { sent } = await run(events)
    const texts = sent.flatMap((event) => (event.type === 'part-delta' ? event.delta.text : []))
    expect(texts).toEqual(['see', ' [1', '] or ', values[0], ' now'])
  })

  test('arguments stay valid JSON, and so does a text that is to be JSON', async () => {
    const text = '{"to": "[EMAIL_3]", "names": ["[EMAIL_2]"]}'
    const expected = { to: values[1], names: [values[0]] }
    const called = await run(toEvents(call, 'arguments', text, [10]))
    expect(JSON.parse(called.part?.kind === 'tool-call' ? called.part.arguments : '')).toEqual(expected)
    const written = await run(toEvents({ kind: 'text', text: '' }, 'text', text, [10]), true)
    expect(JSON.parse(written.part?.kind === 'text' ? written.part.text : '')).toEqual(expected)
  })

  test('citations move with the text; the signature of changed reasoning and log probabilities are removed', async () => {
    const citation = { url: 'https://example.com', start: 10, end: 16 }
    const cited: OutputPart = { kind: 'text', text: '[EMAIL_2] agreed', citations: [citation] }
    const at = { choice: 0, part: 0 }
    const { part } = await run([
      { type: 'part-start', ...at, content: cited },
      { type: 'part-end', ...at },
    ])
    expect(part).toMatchObject({ text: 'ada@example.com agreed', citations: [{ start: 16, end: 22 }] })
    const thought: OutputPart = {
      ...{ kind: 'reasoning', text: '[EMAIL_2]', summary: [] },
      ...{ signature: 'c2ln', format: 'vendor_a-v1' },
    }
    const signed = await run([
      { type: 'part-start', ...at, content: thought },
      { type: 'part-end', ...at },
    ])
    expect(signed.part).not.toHaveProperty('signature')
    expect(signed.losses).toEqual(['reasoning_signature'])
  })
})
