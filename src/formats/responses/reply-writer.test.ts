import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { checkGrammar, collectStream, cost, createContext } from '../../../test/formats/fixtures/responses.ts'
import { gatewayError } from '../../platform/errors/gateway-error.ts'
import { asObjects, type JsonObject } from '../../platform/json/json-values.ts'
import type { Tool } from '../call/call.ts'
import { collectReply, type ReplyEvent } from '../call/event.ts'
import type { OutputPart, ReasoningPart } from '../call/part.ts'
import { type Usage, zeroUsage } from '../call/usage.ts'
import type { ReplyContext } from '../wire-format.ts'
import { responses } from './responses.ts'

const usage: Usage = { ...zeroUsage, input: 10, cacheRead: 5, cacheWrite1h: 3, output: 7, reasoning: 2 }
const end: ReplyEvent = { type: 'choice-end', choice: 0, reason: 'stop', native: 'stop' }

function writeStream(events: ReplyEvent[], context: ReplyContext = createContext()) {
  const writer = responses.client.createWriter(context)
  const text = events.map((event) => writer.write(event)).join('') + writer.end(usage, cost)
  return { text, final: writer.finalBody, events: checkGrammar(text) }
}

function toEvents(parts: OutputPart[]): ReplyEvent[] {
  const started = parts.flatMap((content, part): ReplyEvent[] => [
    { type: 'part-start', choice: 0, part, content },
    { type: 'part-end', choice: 0, part },
  ])
  return [{ type: 'reply-start', id: 'x', model: 'y' }, ...started, end]
}

const withoutTime = (response: JsonObject | null) => ({ ...response, completed_at: null })

describe('reasoning of vendors without summaries', () => {
  const reasoningPart: ReasoningPart = {
    kind: 'reasoning',
    text: 'Hm.',
    summary: [],
    signature: 'c2ln',
    format: 'vendor_a-v1',
  }
  const writeReasoning = (context: ReplyContext) => {
    const { final, events } = writeStream(toEvents([reasoningPart]), context)
    const reply = responses.client.encodeReply(collectReply(toEvents([reasoningPart])), context, cost)
    const [item] = asObjects(final?.output)
    expect(item).toEqual(asObjects(reply.output)[0])
    return { item, types: events.map(({ type }) => type) }
  }

  test('is a summary for a client that requested one', () => {
    const { item, types } = writeReasoning(createContext({ reasoning: { summary: 'auto' } }))
    expect(item).toMatchObject({ summary: [{ type: 'summary_text', text: 'Hm.' }] })
    expect(item).not.toHaveProperty('content')
    expect(types).toContain('response.reasoning_summary_text.delta')
    expect(types).toContain('response.reasoning_summary_part.done')
    expect(types).not.toContain('response.reasoning_text.delta')
  })

  test('is text for any other client, and can be returned by both (R29)', () => {
    const { item, types } = writeReasoning(createContext())
    expect(item).toMatchObject({ summary: [], content: [{ type: 'reasoning_text', text: 'Hm.' }] })
    expect(types).toContain('response.reasoning_text.delta')
    expect(writeReasoning(createContext({ reasoning: { summary: 'auto' } })).item?.encrypted_content).toBe(
      item?.encrypted_content,
    )
  })
})

describe('writing a stream', () => {
  test('the last event carries the complete response, equal to the whole reply', () => {
    const body = {
      instructions: 'Be brief.',
      temperature: 0.5,
      metadata: { a: 'b' },
      tools: [{ type: 'web_search' }],
    }
    const context = createContext({}, body)
    const events = toEvents([
      { kind: 'text', text: 'Hi', citations: [{ url: 'https://e.org', title: 'E', start: 0, end: 2 }] },
      { kind: 'tool-call', id: 'call_1', name: 'f', arguments: '{"a":1}' },
    ])
    const { final, events: out } = writeStream(events, context)
    const last = out.at(-1)
    expect(last?.type).toBe('response.completed')
    expect(last?.response).toEqual(final)
    expect(final).toMatchObject({
      ...body,
      id: 'resp_1790000000-abc',
      object: 'response',
      status: 'completed',
      model: 'vendor/model',
      error: null,
      output: [
        {
          type: 'message',
          content: [{ type: 'output_text', text: 'Hi', annotations: [{ type: 'url_citation' }] }],
        },
        { type: 'function_call', call_id: 'call_1', arguments: '{"a":1}' },
      ],
      usage: {
        input_tokens: 18,
        input_tokens_details: { cached_tokens: 5, cache_write_tokens: 3, cache_write_1h_tokens: 3 },
        output_tokens: 9,
        output_tokens_details: { reasoning_tokens: 2 },
        total_tokens: 27,
        cost: 0.002,
        is_byok: false,
      },
    })
    const reply = { ...collectReply(events), usage }
    expect(withoutTime(responses.client.encodeReply(reply, context, cost))).toEqual(withoutTime(final))
  })

  test('a reply that was cut short is incomplete', () => {
    const cut = writeStream([{ ...end, reason: 'length' }])
    expect(cut.events.at(-1)).toMatchObject({
      type: 'response.incomplete',
      response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    })
    const filtered = writeStream([{ ...end, reason: 'content_filter' }])
    expect(filtered.final).toMatchObject({ incomplete_details: { reason: 'content_filter' } })
  })

  test('R33 a reply that is cut off has an error and a failed response, and never completes', () => {
    const writer = responses.client.createWriter(createContext())
    const [start, ...rest] = toEvents([{ kind: 'text', text: 'Half' }])
    let text = writer.write(start!) + writer.write(rest[0]!)
    text += writer.fail(gatewayError('request_timeout', 'Too slow.'))
    const events = checkGrammar(text)
    expect(events.at(-2)).toMatchObject({ type: 'error', code: 'server_error', message: 'Too slow.' })
    expect(events.at(-1)).toMatchObject({
      type: 'response.failed',
      response: {
        status: 'failed',
        error_type: 'timeout',
        error: { code: 'server_error', message: 'Too slow.' },
        output: [{ status: 'incomplete', content: [{ text: 'Half' }] }],
      },
    })
    expect(text).not.toContain('response.completed')
    expect(writer.end(usage, cost)).toBe('')
    expect(writer.finalBody).toBeNull()
  })

  test('namespaced tool names are restored, and free text is unwrapped from its JSON', () => {
    const tools: Tool[] = [
      { kind: 'function', name: 'read', namespace: 'files' },
      { kind: 'custom', name: 'apply_patch' },
    ]
    const call = { kind: 'tool-call' as const, arguments: '' }
    const { events, final } = writeStream(
      [
        { type: 'part-start', choice: 0, part: 0, content: { ...call, id: 'a', name: 'files__read' } },
        { type: 'part-start', choice: 0, part: 1, content: { ...call, id: 'b', name: 'apply_patch' } },
        { type: 'part-delta', choice: 0, part: 1, delta: { arguments: '{"input":"*** Be' } },
        { type: 'part-delta', choice: 0, part: 1, delta: { arguments: 'gin\\n"}' } },
        end,
      ],
      createContext({ tools }),
    )
    expect(asObjects(final?.output)).toMatchObject([
      { type: 'function_call', name: 'read', namespace: 'files', call_id: 'a' },
      { type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin\n', call_id: 'b' },
    ])
    const deltas = events.filter(({ type }) => type === 'response.custom_tool_call_input.delta')
    expect(deltas.map(({ delta }) => delta)).toEqual(['*** Begin\n'])
  })

  test('an image is an image generation item, and is read back', () => {
    const source = { kind: 'data' as const, mediaType: 'image/webp', data: 'aGk=' }
    const { text, final, events } = writeStream(toEvents([{ kind: 'image', source }]))
    expect(asObjects(final?.output)).toMatchObject([{ type: 'image_generation_call', result: 'aGk=' }])
    expect(events[2]?.item).toMatchObject({ status: 'in_progress', result: null })
    expect(collectStream(text).choices[0]?.parts).toEqual([{ kind: 'image', source }])
  })

  test('only the first of several choices is written', () => {
    const other: ReplyEvent = { type: 'part-start', choice: 1, part: 0, content: { kind: 'text', text: 'B' } }
    expect(writeStream([other, end]).final).toMatchObject({ output: [] })
  })

  test('excluded reasoning keeps only its encrypted content', () => {
    const context = createContext({ reasoning: { exclude: true } })
    const { final } = writeStream(
      toEvents([
        { kind: 'reasoning', text: 'secret', summary: [], format: 'unknown' },
        {
          kind: 'reasoning',
          text: '',
          summary: ['s'],
          encrypted: 'e',
          id: 'rs_1',
          format: 'vendor_b-responses-v1',
        },
        { kind: 'text', text: 'Hi' },
      ]),
      context,
    )
    expect(asObjects(final?.output).map(({ type }) => type)).toEqual(['reasoning', 'message'])
    expect(asObjects(final?.output)[0]).toMatchObject({ summary: [], encrypted_content: 'e' })
  })

  test('audio is a transcript with data, and is read back', () => {
    const part: OutputPart = { kind: 'audio', data: 'aGk=', format: 'wav', transcript: 'Hi', id: 'audio_1' }
    expect(collectStream(writeStream(toEvents([part])).text).choices[0]?.parts).toEqual([part])
  })
})

describe('R29 reasoning of every vendor survives the round trip to the client', () => {
  const signed: ReasoningPart[] = [
    { kind: 'reasoning', text: 'Hm.', summary: [], signature: 'c2ln', format: 'vendor_a-v1' },
    { kind: 'reasoning', text: '', summary: [], encrypted: 'cmVk', format: 'vendor_a-v1' },
    {
      kind: 'reasoning',
      text: '',
      summary: ['A', 'B'],
      encrypted: 'gAA',
      id: 'rs_9',
      format: 'vendor_b-responses-v1',
    },
    {
      kind: 'reasoning',
      text: '',
      summary: ['A'],
      encrypted: 'xai',
      id: 'rs_8',
      format: 'vendor_d-responses-v1',
    },
    { kind: 'reasoning', text: '', summary: [], signature: 'Q2c=', id: 'call_1', format: 'vendor_c-v1' },
    { kind: 'reasoning', text: 'Plain.', summary: [], format: 'unknown' },
  ]

  for (const part of signed) {
    test(`${part.format}${part.text === '' ? ', hidden' : ''}`, () => {
      const { text, final } = writeStream(toEvents([part]))
      // A strict client returns only the fields of its schema.
      const input = asObjects(final?.output).map(({ id, type, summary, encrypted_content }) => ({
        id,
        type,
        summary,
        encrypted_content,
      }))
      expect(responses.client.decodeRequest({ input }).messages).toEqual([
        { role: 'assistant', parts: [part] },
      ])
      expect(collectStream(text).choices[0]?.parts).toEqual([part])
    })
  }
})

describe('R28 any interleaving', () => {
  const anyText = fc.string({ unit: 'grapheme', maxLength: 12 })
  const content: fc.Arbitrary<OutputPart> = fc.oneof(
    fc.record({ kind: fc.constant('text' as const), text: fc.constant('') }),
    fc.record({ kind: fc.constant('refusal' as const), text: fc.constant('') }),
    fc.record({
      kind: fc.constant('tool-call' as const),
      id: fc.uuid(),
      name: fc.constantFrom('f', 'g'),
      arguments: fc.constant(''),
    }),
    fc.record({
      kind: fc.constant('tool-call' as const),
      id: fc.uuid(),
      name: fc.constant('c'),
      arguments: fc.constant(''),
      custom: fc.constant(true),
    }),
    fc.record({
      kind: fc.constant('reasoning' as const),
      text: fc.constant(''),
      summary: fc.constant<string[]>([]),
      format: fc.constantFrom('vendor_a-v1' as const, 'vendor_b-responses-v1' as const, 'unknown' as const),
    }),
  )

  test('is written as valid events, and read back as the same parts and usage', () => {
    const script = fc.array(fc.tuple(fc.nat(5), anyText, fc.boolean()), { maxLength: 40 })
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 6 }), script, (parts, steps) => {
        const events: ReplyEvent[] = parts.map((content, part) => ({
          type: 'part-start',
          choice: 0,
          part,
          content,
        }))
        const ended = new Set<number>()
        for (const [number, chunk, ends] of steps) {
          const part = number % parts.length
          if (ended.has(part)) continue
          const kind = parts[part]!.kind
          const delta = kind === 'tool-call' ? { arguments: chunk } : { text: chunk }
          events.push({ type: 'part-delta', choice: 0, part, delta })
          if (!ends) continue
          ended.add(part)
          events.push({ type: 'part-end', choice: 0, part })
        }
        events.push(end)
        const { text } = writeStream(events)
        const back = collectStream(text)
        const contentOf = (reply: OutputPart[]) =>
          reply.map(({ ...part }) => {
            if (part.kind === 'reasoning') return part.text
            const isEmpty = part.kind === 'tool-call' && !part.custom && part.arguments === ''
            return isEmpty ? { ...part, arguments: '{}' } : part
          })
        const expected = collectReply(events).choices[0]!.parts
        // Readers drop empty native items.
        const expectedParts = expected.filter(
          (part) => part.kind !== 'reasoning' || part.text !== '' || part.format !== 'vendor_b-responses-v1',
        )
        expect(sortJson(contentOf(back.choices[0]?.parts ?? []))).toEqual(sortJson(contentOf(expectedParts)))
        expect(back.usage).toEqual({ ...usage, reportedCost: cost.total })
        expect(back.isComplete).toBe(true)
      }),
      { numRuns: 150 },
    )
  })
})

/** Readers number parts in the order of their content, so the order is not compared. */
function sortJson(parts: unknown[]): string[] {
  return parts.map((part) => JSON.stringify(part)).sort()
}
