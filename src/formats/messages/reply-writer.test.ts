import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { cost, createContext, readEvents, readFixture } from '../../../test/formats/fixtures/messages.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { asObject, type JsonObject } from '../../platform/json/json-values.ts'
import { collectReply, type Reply, type ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart } from '../call/part.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import { messages } from './messages.ts'
import { decodeRequest } from './request-decode.ts'

const { createWriter, encodeReply } = messages.client

function write(events: ReplyEvent[], usage: Usage = zeroUsage, context = createContext()): string {
  const writer = createWriter(context)
  return events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
}

/** The data of the events. Event names must equal types. */
function dataOf(stream: string): JsonObject[] {
  return stream
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [event, data] = block.split('\ndata: ')
      const parsed = JSON.parse(data ?? '')
      expect(event).toBe(`event: ${parsed.type}`)
      return parsed
    })
}

/** message_start, (start, delta*, stop)*, message_delta, message_stop: blocks numbered, one open at a time. */
function checkGrammar(stream: string): void {
  const events = dataOf(stream)
  expect(events[0]?.type).toBe('message_start')
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop'])
  let [open, next] = [false, 0]
  for (const { type, index } of events.slice(1, -2)) {
    if (type === 'content_block_start') {
      expect([open, index]).toEqual([false, next])
      open = true
    } else {
      expect([open, index]).toEqual([true, next])
      if (type === 'content_block_stop') [open, next] = [false, next + 1]
    }
  }
  expect(open).toBe(false)
}

const partsOf = (reply: Reply) => reply.choices[0]?.parts

function whole(content: OutputPart, part = 0): ReplyEvent[] {
  return [
    { type: 'part-start', choice: 0, part, content },
    { type: 'part-end', choice: 0, part },
  ]
}

describe('a stream', () => {
  test.each(['thinking-tools.sse', 'web-search.sse'])('%s survives a round trip', (name) => {
    const events = readEvents(readFixture(name))
    const original = collectReply(events)
    const written = write(events, original.usage ?? zeroUsage)
    checkGrammar(written)
    const received = collectReply(readEvents(written))
    expect(received.choices).toEqual(original.choices)
    expect(received.usage).toEqual({ ...(original.usage ?? zeroUsage), reportedCost: cost.total })
    expect(received.isComplete).toBe(true)
  })

  test('starts and ends with every field that clients expect', () => {
    const events = dataOf(write(readEvents(readFixture('thinking-tools.sse')), { ...zeroUsage, output: 7 }))
    expect(events[0]).toEqual({
      type: 'message_start',
      message: {
        id: 'gen-1731650000-tide',
        type: 'message',
        role: 'assistant',
        model: 'anthropic/claude-opus-4.6',
        provider: 'Harbour Cloud',
        content: [],
        container: null,
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: {
          input_tokens: 0,
          cache_creation_input_tokens: 0,
          cache_read_input_tokens: 0,
          cache_creation: { ephemeral_1h_input_tokens: 0, ephemeral_5m_input_tokens: 0 },
          output_tokens: 0,
          output_tokens_details: null,
          server_tool_use: null,
          inference_geo: null,
          service_tier: 'standard',
        },
      },
    })
    expect(events.at(-2)).toMatchObject({
      delta: { container: null, stop_details: null, stop_reason: 'tool_use', stop_sequence: null },
      usage: { output_tokens: 7, cost: 0.25, is_byok: false, output_tokens_details: { thinking_tokens: 0 } },
    })
    expect(events.at(-1)).toEqual({ type: 'message_stop' })
  })

  test('R28: is valid, with complete arguments, under any interleaving', () => {
    const chunk = fc.string({ maxLength: 6, unit: 'binary' })
    const part = fc.record({
      kind: fc.constantFrom('text', 'tool-call', 'custom', 'reasoning', 'signed'),
      chunks: fc.array(chunk, { maxLength: 5 }),
      ends: fc.boolean(),
    })
    fc.assert(
      fc.property(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.infiniteStream(fc.nat()),
        (parts, order) => {
          const events = interleave(parts, () => order.next().value ?? 0)
          const original = collectReply(events)
          const written = write(events)
          checkGrammar(written)
          const received = partsOf(collectReply(readEvents(written))) ?? []
          expect(callsOf(received)).toEqual(callsOf(partsOf(original) ?? []))
          expect(textOf(received, 'text').length).toBe(textOf(partsOf(original) ?? [], 'text').length)
          expect(signaturesOf(received)).toEqual(signaturesOf(partsOf(original) ?? []))
        },
      ),
      { numRuns: 200 },
    )
  })

  test('text between the deltas of a tool call is sent after its end', () => {
    const call: OutputPart = { kind: 'tool-call', id: 't', name: 'f', arguments: '' }
    const events: ReplyEvent[] = [
      { type: 'part-start', choice: 0, part: 0, content: { kind: 'text', text: 'a' } },
      { type: 'part-start', choice: 0, part: 1, content: call },
      { type: 'part-delta', choice: 0, part: 1, delta: { arguments: '{"x"' } },
      { type: 'part-delta', choice: 0, part: 0, delta: { text: 'b' } },
      { type: 'part-delta', choice: 0, part: 1, delta: { arguments: ':1}' } },
    ]
    const reply = collectReply(readEvents(write(events)))
    expect(partsOf(reply)).toMatchObject([{ text: 'a' }, { arguments: '{"x":1}' }, { text: 'b' }])
  })

  test('that fails ends with a single error event', () => {
    const writer = createWriter(createContext())
    writer.write({ type: 'reply-start' })
    const [event] = dataOf(writer.fail(gatewayError('internal')))
    expect(event).toMatchObject({ type: 'error', error: { type: 'api_error', error_type: 'server' } })
    expect(asObject(event?.error)?.message).toContain('gen-1731650000-tide')
  })

  test('has pings as heartbeats', () => {
    expect(messages.client.heartbeat).toBe('event: ping\ndata: {"type": "ping"}\n\n')
  })
})

describe('R29: reasoning', () => {
  const thoughts: ReasoningPart[] = [
    { kind: 'reasoning', text: 'hm', summary: [], signature: 'sig', format: 'vendor_a-v1' },
    { kind: 'reasoning', text: '', summary: [], encrypted: 'data', format: 'vendor_a-v1' },
    { kind: 'reasoning', id: 'x', text: 'hm', summary: [], signature: 'sig', format: 'vendor_a-v1' },
    { kind: 'reasoning', text: 'aloud', summary: [], format: 'unknown' },
    {
      kind: 'reasoning',
      id: 'rs_1',
      text: '',
      summary: ['a', 'b'],
      encrypted: 'gAAA',
      format: 'vendor_b-responses-v1',
    },
    { kind: 'reasoning', id: 'call_1', text: '', summary: [], signature: 'CoE=', format: 'vendor_c-v1' },
    { kind: 'reasoning', text: 'deep', summary: [], signature: 'CoE=', format: 'vendor_c-v1' },
  ]

  test.each(thoughts)('%j survives a round trip, streamed and whole', (part) => {
    const reply = collectReply([{ type: 'reply-start' }, ...whole(part)])
    const body = encodeReply(reply, createContext(), cost)
    for (const { content } of [body, accumulated(write(whole(part)))]) {
      const received = decodeRequest({ model: 'm', messages: [{ role: 'assistant', content }] })
      expect(received.messages[0]?.parts).toEqual([part])
    }
    expect(partsOf(collectReply(readEvents(write(whole(part)))))).toEqual([part])
  })

  test('shows the sections of a summary', () => {
    const part: ReasoningPart = { kind: 'reasoning', text: '', summary: [], format: 'vendor_b-responses-v1' }
    const events: ReplyEvent[] = [
      { type: 'part-start', choice: 0, part: 0, content: part },
      { type: 'part-delta', choice: 0, part: 0, delta: { summary: 'one', section: 0 } },
      { type: 'part-delta', choice: 0, part: 0, delta: { summary: 'two', section: 1 } },
      { type: 'part-delta', choice: 0, part: 0, delta: { encrypted: 'gAAA' } },
      { type: 'part-end', choice: 0, part: 0 },
    ]
    const { content } = accumulated(write(events))
    expect(content).toMatchObject([{ type: 'thinking', thinking: 'one\n\ntwo' }])
    expect(partsOf(collectReply(readEvents(write(events))))).toEqual(partsOf(collectReply(events)))
  })

  test('is hidden on request, except for what must be sent back', () => {
    const context = createContext({ reasoning: { exclude: true } })
    for (const part of thoughts.slice(0, 1)) {
      const { content } = accumulated(write(whole(part), zeroUsage, context))
      expect(content).toMatchObject([{ type: 'thinking', thinking: '' }])
      const received = decodeRequest({ model: 'm', messages: [{ role: 'assistant', content }] })
      expect(received.messages[0]?.parts).toEqual([part])
    }
    expect(accumulated(write(whole(thoughts[3] as ReasoningPart), zeroUsage, context)).content).toEqual([])
  })
})

describe('a whole reply', () => {
  test('has all fields of the format', () => {
    const reply = collectReply(readEvents(readFixture('thinking-tools.sse')))
    expect(encodeReply(reply, createContext(), cost)).toMatchObject({
      id: 'gen-1731650000-tide',
      container: null,
      stop_reason: 'tool_use',
      stop_details: null,
      content: [
        { type: 'thinking', signature: 'EqQBCkYIBxgCIkDvZ2l2ZW4gc2lnbmF0dXJl+/==' },
        { type: 'redacted_thinking', data: 'EmwKAhgBEgyZWRhY3RlZA==' },
        { type: 'text', citations: null },
        { type: 'tool_use', input: { harbour: 'Le Havre', days: 2 }, caller: { type: 'direct' } },
        { type: 'tool_use', input: {} },
      ],
      usage: { input_tokens: 45, cost: 0.25, inference_geo: null, service_tier: 'standard' },
    })
  })

  test('refusals, images, audio and free text are encoded', () => {
    const events = [
      ...whole({ kind: 'refusal', text: 'No.' }, 0),
      ...whole({ kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' } }, 1),
      ...whole({ kind: 'audio', data: 'UklG', format: 'wav', transcript: 'said' }, 2),
      ...whole({ kind: 'tool-call', id: 't', name: 'patch', arguments: 'a "b"\n', custom: true }, 3),
      ...whole({ kind: 'opaque', wireFormat: 'responses', value: { type: 'x' } }, 4),
    ]
    const body = encodeReply(collectReply(events), createContext(), cost)
    expect(body).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } })
    const { content } = accumulated(write(events))
    expect(content).toEqual(body.content as JsonObject[])
    expect(content).toMatchObject([
      { type: 'text', text: 'No.' },
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
      { type: 'text', text: 'said' },
      { type: 'tool_use', input: { input: 'a "b"\n' } },
    ])
  })

  test('R9: every usage count survives a round trip', () => {
    const count = fc.nat(1_000_000)
    const buckets = Object.keys(zeroUsage).filter((name) => name !== 'reportedCost')
    const usages = fc.record(Object.fromEntries(buckets.map((name) => [name, count])))
    fc.assert(
      fc.property(usages, (counts) => {
        const usage = { ...zeroUsage, ...counts }
        const reply = { ...collectReply([{ type: 'reply-start' }]), usage }
        const wholeBack = collectReply(
          messages.upstream.decodeReply(encodeReply(reply, createContext(), cost)),
        ).usage
        const streamBack = collectReply(readEvents(write([], usage))).usage
        expect(wholeBack).toEqual({ ...usage, reportedCost: cost.total })
        expect(streamBack).toEqual(wholeBack)
      }),
      { numRuns: 50 },
    )
  })
})

/** The message as a client assembles it. */
function accumulated(stream: string): { content: JsonObject[] } {
  const content: JsonObject[] = []
  const json: string[] = []
  for (const { type, index, content_block, delta } of dataOf(stream)) {
    const at = Number(index)
    if (type === 'content_block_start') content[at] = { ...(content_block as JsonObject) }
    const block = content[at]
    const { type: kind, text, thinking, signature, partial_json } = asObject(delta) ?? {}
    if (!block) continue
    if (kind === 'text_delta') block.text += String(text)
    if (kind === 'thinking_delta') block.thinking += String(thinking)
    if (kind === 'signature_delta') block.signature = signature
    if (kind === 'input_json_delta') json[at] = (json[at] ?? '') + String(partial_json)
    if (type === 'content_block_stop' && json[at]) block.input = JSON.parse(json[at] ?? '')
  }
  return { content }
}

interface Wanted {
  kind: string
  chunks: string[]
  ends: boolean
}

/** Interleaves the events of all parts by `pick`; the events of a part stay in order. */
function interleave(parts: Wanted[], pick: () => number): ReplyEvent[] {
  const events: ReplyEvent[] = [{ type: 'reply-start' }]
  const queues: ReplyEvent[][] = []
  const draw = () => {
    const ready = queues.filter((queue) => queue.length > 0)
    const event = ready[pick() % ready.length]?.shift()
    if (event) events.push(event)
  }
  for (const [part, { kind, chunks, ends }] of parts.entries()) {
    events.push({ type: 'part-start', choice: 0, part, content: contentOf(kind, part) })
    const deltas = chunks.map((text): ReplyEvent => {
      const field = kind === 'tool-call' || kind === 'custom' ? { arguments: text } : { text }
      return { type: 'part-delta', choice: 0, part, delta: field }
    })
    if (kind === 'signed') {
      deltas.push({ type: 'part-delta', choice: 0, part, delta: { signature: `sig${part}` } })
    }
    if (ends) deltas.push({ type: 'part-end', choice: 0, part })
    queues.push(deltas)
    for (let draws = pick() % 4; draws > 0; draws--) draw()
  }
  while (queues.some((queue) => queue.length > 0)) draw()
  return events
}

function contentOf(kind: string, part: number): OutputPart {
  if (kind === 'text') return { kind: 'text', text: '' }
  if (kind === 'tool-call') return { kind: 'tool-call', id: `t${part}`, name: 'f', arguments: '' }
  if (kind === 'custom') return { kind: 'tool-call', id: `t${part}`, name: 'f', arguments: '', custom: true }
  return {
    kind: 'reasoning',
    text: '',
    summary: [],
    format: kind === 'signed' ? 'vendor_a-v1' : 'unknown',
  }
}

/** Arguments by id: free text as the JSON it becomes, no arguments as an empty object. */
function callsOf(parts: OutputPart[]): [string, string][] {
  return parts
    .flatMap((part): [string, string][] => {
      if (part.kind !== 'tool-call') return []
      const text = part.custom ? JSON.stringify({ input: part.arguments }) : part.arguments || '{}'
      return [
        [part.id, part.custom || text.startsWith('{"input":') ? JSON.stringify(JSON.parse(text)) : text],
      ]
    })
    .sort()
}

function textOf(parts: OutputPart[], kind: string): string {
  return parts.map((part) => (part.kind === kind && 'text' in part ? part.text : '')).join('')
}

function signaturesOf(parts: OutputPart[]): string[] {
  return parts
    .flatMap((part) => (part.kind === 'reasoning' && part.signature ? [part.signature + part.text] : []))
    .sort()
}
