import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../../test/formats/conformance/targets.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { decodeRequest } from './request-decode.ts'
import { cohereUpstream } from './upstream.ts'

const { upstream } = cohereUpstream
const target = createTarget('chat', { model: 'command-a-03-2025' })
const text = (value: string) => ({ kind: 'text', text: value }) as const
const ask = (value = 'Hello'): ModelCall['messages'][number] => ({ role: 'user', parts: [text(value)] })
const weather = { kind: 'function', name: 'weather', schema: { type: 'object', properties: {} } } as const
const call = { kind: 'tool-call', id: 'c1', name: 'weather', arguments: '{"city":"Graz"}' } as const

function encode(changes: Partial<ModelCall>, to = target) {
  return upstream.encodeRequest(
    { messages: [ask()], stream: false, unknown: [], ...changes } as ModelCall,
    to,
  )
}

function readStream(events: JsonObject[]) {
  const reader = upstream.createReader()
  const frames = events.map((event) => ({ event: String(event.type), data: JSON.stringify(event) }))
  return collectReply([...frames.flatMap((frame) => reader.read(frame)), ...reader.end()])
}

const readWhole = (body: JsonObject) => collectReply(upstream.decodeReply(body))

describe('R31 requests to Cohere', () => {
  test('settings have their names', () => {
    const { path, body, dropped } = encode({
      maxTokens: 9,
      topP: 0.5,
      topK: 3,
      stop: ['a'],
      seed: 4,
      temperature: 0,
    })
    expect(path).toBe('/chat')
    expect(body).toEqual({
      model: 'command-a-03-2025',
      messages: [{ role: 'user', content: 'Hello' }],
      max_tokens: 9,
      temperature: 0,
      p: 0.5,
      k: 3,
      seed: 4,
      stop_sequences: ['a'],
      stream: false,
    })
    expect(dropped).toEqual([])
  })

  test('R32 fields without a counterpart are reported, as are values that it would reject', () => {
    const { body, dropped } = encode({
      n: 2,
      minP: 0.1,
      user: 'ana',
      frequencyPenalty: -1,
      stop: [...'abcdefg'],
    })
    expect(dropped).toEqual(['frequency_penalty', 'min_p', 'n', 'stop', 'user'])
    expect(body).toMatchObject({ frequency_penalty: 0, stop_sequences: [...'abcde'] })
  })

  test('R32 a required call is reported where no tool can be sent', () => {
    const { body, dropped } = encode({
      tools: [{ kind: 'native', type: 'web_search', wireFormat: 'messages', value: {} }] as never,
      toolChoice: { kind: 'required' },
    })
    expect(body.tool_choice).toBeUndefined()
    expect(dropped).toEqual(['tool:web_search', 'tool_choice'])
  })

  test('calls of tools, with what the model said before as its plan, and their results', () => {
    const { body, dropped } = encode({
      tools: [weather, { ...weather, name: 'other' }],
      toolChoice: { kind: 'tool', name: 'weather' },
      messages: [
        ask(),
        { role: 'assistant', parts: [text('I look.'), call] },
        { role: 'user', parts: [{ kind: 'tool-result', id: 'c1', content: [text('-3')] }, text('And?')] },
      ],
    })
    expect(body.tools).toEqual([
      { type: 'function', function: { name: 'weather', parameters: weather.schema } },
    ])
    expect(body.tool_choice).toBe('REQUIRED')
    expect(body.messages).toEqual([
      { role: 'user', content: 'Hello' },
      {
        role: 'assistant',
        tool_plan: 'I look.',
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"city":"Graz"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '-3' },
      { role: 'user', content: 'And?' },
    ])
    expect(dropped).toEqual([])
  })

  test('documents of a client with this format arrive as documents', () => {
    const documents = [{ id: 'doc-1', data: { text: 'AI automates.' } }]
    const decoded = decodeRequest({ messages: [{ role: 'user', content: 'Why?' }], documents })
    expect(encode(decoded).body).toMatchObject({
      messages: [{ role: 'user', content: 'Why?' }],
      documents: [{ id: 'doc-1', data: { text: 'AI automates.', title: 'doc-1' } }],
    })
  })

  test('a schema, and reasoning that is switched off, on, or limited', () => {
    const schema = { type: 'object' }
    expect(encode({ format: { kind: 'schema', schema } }).body.response_format).toEqual({
      type: 'json_object',
      json_schema: schema,
    })
    expect(encode({ reasoning: { enabled: false } }).body.thinking).toEqual({ type: 'disabled' })
    expect(encode({ reasoning: { enabled: true } }).body.thinking).toEqual({ type: 'enabled' })
    expect(encode({ reasoning: { maxTokens: 2000 } }).body.thinking).toEqual({
      type: 'enabled',
      token_budget: 2000,
    })
    const plain = { ...target, reasoning: null }
    expect(encode({ reasoning: { enabled: true } }, plain).dropped).toEqual(['reasoning'])
  })
})

const message = (value: JsonObject) => ({ delta: { message: value } })
const end = {
  type: 'message-end',
  delta: {
    finish_reason: 'COMPLETE',
    usage: {
      billed_units: { input_tokens: 12, output_tokens: 7 },
      tokens: { input_tokens: 507, output_tokens: 10 },
    },
  },
}

describe('R31 replies of Cohere', () => {
  const citation = {
    start: 0,
    end: 5,
    text: 'Paris',
    sources: [
      { type: 'document', id: 'doc-1', document: { id: 'doc-1', title: 'Atlas', snippet: 'The capital.' } },
    ],
    type: 'TEXT_CONTENT',
  }
  const expected = {
    parts: [
      { kind: 'reasoning', text: 'Which city?' },
      {
        kind: 'text',
        text: 'Paris.',
        citations: [
          {
            title: 'Atlas',
            citedText: 'The capital.',
            file: { id: 'doc-1', name: 'Atlas' },
            start: 0,
            end: 5,
          },
        ],
      },
    ],
    end: { reason: 'stop', native: 'COMPLETE' },
  }
  const streamed = [
    { type: 'message-start', id: 'r1', ...message({ role: 'assistant', content: [] }) },
    { type: 'content-start', index: 0, ...message({ content: { type: 'thinking', thinking: '' } }) },
    { type: 'content-delta', index: 0, ...message({ content: { thinking: 'Which ' } }) },
    { type: 'content-delta', index: 0, ...message({ content: { thinking: 'city?' } }) },
    { type: 'content-end', index: 0 },
    { type: 'content-start', index: 1, ...message({ content: { type: 'text', text: '' } }) },
    { type: 'content-delta', index: 1, ...message({ content: { text: 'Par' } }) },
    { type: 'content-delta', index: 1, ...message({ content: { text: 'is.' } }) },
    { type: 'content-end', index: 1 },
    { type: 'citation-start', index: 0, ...message({ citations: citation }) },
    { type: 'citation-end', index: 0 },
    end,
  ]
  const whole = {
    id: 'r1',
    message: {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Which city?' },
        { type: 'text', text: 'Paris.' },
      ],
      citations: [citation],
    },
    ...end.delta,
  }

  test.each([
    ['streamed', () => readStream(streamed)],
    ['whole', () => readWhole(whole)],
  ])('%s, with reasoning, citations and the tokens on the bill', (_name, read) => {
    const { start, choices, usage, isComplete } = read()
    expect(start.id).toBe('r1')
    expect(choices[0]).toMatchObject(expected)
    expect(usage).toEqual({ ...zeroUsage, input: 12, output: 7 })
    expect(isComplete).toBe(true)
  })

  test('R33 a stream that is cut before its end is never a complete reply', () => {
    for (let length = 0; length < streamed.length; length++)
      expect(readStream(streamed.slice(0, length)).isComplete).toBe(false)
  })

  test.each([
    [
      'streamed',
      () =>
        readStream([
          { type: 'tool-plan-delta', ...message({ tool_plan: 'I ' }) },
          { type: 'tool-plan-delta', ...message({ tool_plan: 'look.' }) },
          ...['c1', 'c2'].flatMap((id, index) => [
            {
              type: 'tool-call-start',
              index,
              ...message({
                tool_calls: { id, type: 'function', function: { name: 'weather', arguments: '' } },
              }),
            },
            ...(index === 0
              ? [
                  {
                    type: 'tool-call-delta',
                    index,
                    ...message({ tool_calls: { function: { arguments: '{"a":1}' } } }),
                  },
                ]
              : []),
            { type: 'tool-call-end', index },
          ]),
          { ...end, delta: { ...end.delta, finish_reason: 'TOOL_CALL' } },
        ]),
    ],
    [
      'whole',
      () =>
        readWhole({
          message: {
            tool_plan: 'I look.',
            tool_calls: [
              { id: 'c1', function: { name: 'weather', arguments: '{"a":1}' } },
              { id: 'c2', function: { name: 'weather', arguments: '' } },
            ],
          },
          finish_reason: 'TOOL_CALL',
        }),
    ],
  ])('%s, with a plan and calls of tools', (_name, read) => {
    expect(read().choices[0]).toMatchObject({
      parts: [
        { kind: 'text', text: 'I look.' },
        { kind: 'tool-call', id: 'c1', arguments: '{"a":1}' },
        { kind: 'tool-call', id: 'c2', arguments: '{}' },
      ],
      end: { reason: 'tool_calls' },
    })
  })

  test.each([
    ['MAX_TOKENS', 'length'],
    ['STOP_SEQUENCE', 'stop'],
    ['ERROR_TOXIC', 'content_filter'],
  ])('the reason %s is %s', (finish_reason, reason) => {
    expect(readWhole({ message: { content: [] }, finish_reason }).choices[0]?.end).toMatchObject({ reason })
  })

  test('an error at the end is a failure, with what was used', () => {
    const delta = { ...end.delta, finish_reason: 'ERROR', error: 'The model broke.' }
    const { failure, usage, isComplete } = readStream([
      ...streamed.slice(0, -1),
      { type: 'message-end', delta },
    ])
    expect(failure).toMatchObject({ kind: 'provider_unavailable', message: 'The model broke.' })
    expect(usage).toMatchObject({ input: 12 })
    expect(isComplete).toBe(false)
  })

  test.each([
    [401, { message: 'invalid api token' }, 'authentication'],
    [404, { message: "model 'x' not found" }, 'not_found'],
    [429, { message: 'You are using a Trial key' }, 'rate_limit_exceeded'],
    [
      400,
      { message: 'too many tokens: total number of tokens exceeds the limit' },
      'context_length_exceeded',
    ],
  ])('a response with status %i and %j is a failure of kind %s', (status, body, kind) => {
    expect(upstream.decodeError(status, body)).toMatchObject({ kind, status })
  })
})
