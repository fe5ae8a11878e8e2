import { describe, expect, test } from 'bun:test'
import { wireFormats } from '../../../src/formats/all.ts'
import { collectReply, type Reply, type ReplyEvent } from '../../../src/formats/call/event.ts'
import type { OutputPart } from '../../../src/formats/call/part.ts'
import { zeroUsage } from '../../../src/formats/call/usage.ts'
import { type GenerateWireFormat, generateWireFormats } from '../../../src/formats/vocabulary.ts'
import { GatewayError } from '../../../src/platform/errors/gateway-error.ts'
import type { SseFrame } from '../../../src/platform/http/sse.ts'
import type { JsonObject } from '../../../src/platform/json/json-values.ts'
import { cost, createContext, decodeFrames, parseFrames, replyModes, roundTripReply } from './round-trip.ts'
import { createTarget } from './targets.ts'

/** Recorded vendor behavior that differs from the vendors' documentation. */

const wireFormatsWithEventNames = new Set<GenerateWireFormat>(['messages', 'responses'])

function framesFor(wireFormat: GenerateWireFormat, events: JsonObject[]): SseFrame[] {
  return events.map((event) => ({
    event: wireFormatsWithEventNames.has(wireFormat) ? String(event.type) : '',
    data: JSON.stringify(event),
  }))
}

const done: SseFrame = { event: '', data: '[DONE]' }

function readWhole(wireFormat: GenerateWireFormat, body: JsonObject): ReplyEvent[] {
  return wireFormats[wireFormat].upstream.decodeReply(body)
}

/** The events that a client of the same format receives. */
function relayFrames(wireFormat: GenerateWireFormat, frames: SseFrame[]): JsonObject[] {
  const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
  const text = frames.map((frame) => relay.pass(frame)).join('') + (relay.close?.() ?? '')
  const rest = relay.summary.isComplete ? relay.end(zeroUsage, cost) : ''
  return parseFrames(text + rest).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data)]))
}

function partsOf(reply: Reply): OutputPart[] {
  return (reply.choices[0]?.parts ?? []).filter((part) => part !== undefined)
}

const callsIn = (reply: Reply) =>
  partsOf(reply).flatMap((part) => (part.kind === 'tool-call' ? [[part.name, part.arguments]] : []))
const textIn = (reply: Reply) =>
  partsOf(reply)
    .map((part) => (part.kind === 'text' ? part.text : ''))
    .join('')

/** Checks the reply in every client format, streamed and whole. */
function checkEveryClient(
  events: ReplyEvent[],
  check: (reply: Reply, wireFormat: GenerateWireFormat) => void,
): void {
  check(collectReply(events), 'chat')
  for (const wireFormat of generateWireFormats)
    for (const mode of replyModes) check(roundTripReply(wireFormat, mode, events), wireFormat)
}

describe('R29 chat fields that are present and empty', () => {
  const emptyFields = {
    refusal: '',
    reasoning: '',
    reasoning_content: '',
    reasoning_details: [],
    annotations: [],
    images: [],
    audio: {},
    function_call: { name: '', arguments: '' },
  }
  const call = {
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'weather', arguments: '{"city":"Graz"}' },
    custom: { name: '', input: '' },
  }
  const chunk = (delta: object, finish: string | null = '') => ({
    id: 'c1',
    model: 'm',
    choices: [{ index: 0, delta: { ...emptyFields, ...delta }, finish_reason: finish }],
  })
  const stream = [
    ...framesFor('chat', [
      chunk({ role: 'assistant', content: 'Look', tool_calls: [] }),
      chunk({ content: '.', tool_calls: [call] }),
      chunk({ content: '', tool_calls: [] }, 'stop'),
    ]),
    done,
  ]
  const whole = {
    id: 'c1',
    error: {},
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Look.', ...emptyFields, tool_calls: [call] },
        finish_reason: '',
      },
    ],
  }

  test('are ignored in a translation', () => {
    for (const events of [decodeFrames('chat', stream), readWhole('chat', whole)]) {
      checkEveryClient(events, (reply) => {
        expect(textIn(reply)).toBe('Look.')
        expect(callsIn(reply).map(([name, text]) => [name, JSON.parse(text ?? '')])).toEqual([
          ['weather', { city: 'Graz' }],
        ])
        expect(partsOf(reply).map(({ kind }) => kind)).toEqual(['text', 'tool-call'])
        expect(reply.choices[0]?.end?.reason).toBe('tool_calls')
        expect(reply).toMatchObject({ isComplete: true, failure: null })
      })
    }
  })

  test('a reply with text only has no tool calls', () => {
    const frames = [...framesFor('chat', [chunk({ content: 'Hi' }), chunk({}, 'stop')]), done]
    expect(collectReply(decodeFrames('chat', frames)).choices[0]?.end?.reason).toBe('stop')
    expect(relayFrames('chat', frames).at(-1)).toMatchObject({ choices: [{ finish_reason: 'stop' }] })
  })

  test('are removed from a reply that is passed through', () => {
    const { choices } = wireFormats.chat.passthrough.passReply(whole, createContext(), cost, zeroUsage)
    const [choice] = choices as JsonObject[]
    expect(choice).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: 'Look.', refusal: null },
    })
    expect(choice?.error).toBeUndefined()
    const message = choice?.message as JsonObject
    for (const name of ['function_call', 'audio']) expect(message).not.toHaveProperty(name)
    const [passed] = message.tool_calls as JsonObject[]
    expect(passed).not.toHaveProperty('custom')
    expect(passed).toMatchObject({ function: { name: 'weather' } })
  })
})

describe('R29 a Messages stream whose first event is the whole message', () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'claude',
    content: [
      { type: 'text', text: 'Look.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { city: 'Graz' } },
    ],
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 20 },
  }
  const start = { type: 'message_start', message }

  test.each([
    ['without further events', [start]],
    ['with message_stop only', [start, { type: 'message_stop' }]],
    [
      'with the final events',
      [
        start,
        { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 20 } },
        { type: 'message_stop' },
      ],
    ],
  ])('is read %s', (_, events) => {
    const frames = framesFor('messages', events)
    checkEveryClient(decodeFrames('messages', frames), (reply) => {
      expect(textIn(reply)).toBe('Look.')
      expect(callsIn(reply)).toEqual([['weather', '{"city":"Graz"}']])
      expect(reply.choices[0]?.end?.reason).toBe('tool_calls')
      expect(reply.isComplete).toBe(true)
    })
    const relay = wireFormats.messages.passthrough.createRelay(createContext())
    for (const frame of frames) relay.pass(frame)
    relay.close?.()
    expect(relay.summary).toMatchObject({
      hasContent: true,
      isComplete: true,
      finishReasons: [{ reason: 'tool_calls', native: 'tool_use' }],
      usage: { output: 20 },
    })
    const passed = relayFrames('messages', frames)
    // The stop reason is sent after settlement, not before.
    expect(passed[0]).toMatchObject({ message: { content: message.content, stop_reason: null } })
    expect(passed.at(-2)).toMatchObject({ type: 'message_delta', delta: { stop_reason: 'tool_use' } })
  })
})

describe('R29 a free-text tool call that the vendor ran itself', () => {
  const item = {
    id: 'ctc_1',
    type: 'custom_tool_call',
    call_id: 'xs_call_1',
    name: 'x_keyword_search',
    input: '{"query":"from:xai"}',
    status: 'completed',
  }
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Found.', annotations: [], logprobs: [] }],
  }
  const response = (tools: object[], output: object[] = []) => ({
    id: 'resp_1',
    model: 'grok',
    status: output.length > 0 ? 'completed' : 'in_progress',
    tools,
    output,
    usage: { input_tokens: 1, output_tokens: 2 },
  })
  const streamOf = (tools: object[]) =>
    framesFor('responses', [
      { type: 'response.created', response: response(tools) },
      {
        type: 'response.output_item.added',
        output_index: 0,
        item: { ...item, input: '', status: 'in_progress' },
      },
      { type: 'response.custom_tool_call_input.delta', item_id: 'ctc_1', output_index: 0, delta: item.input },
      { type: 'response.custom_tool_call_input.done', item_id: 'ctc_1', output_index: 0, input: item.input },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.output_item.done', output_index: 1, item: message },
      { type: 'response.completed', response: response(tools, [item, message]) },
    ])
  const vendorTools = [{ type: 'x_search' }]
  const clientTools = [{ type: 'x_search' }, { type: 'custom', name: 'x_keyword_search' }]

  test('is not sent to the client as a tool call', () => {
    for (const events of [
      decodeFrames('responses', streamOf(vendorTools)),
      readWhole('responses', response(vendorTools, [item, message])),
      readWhole('responses', response([], [{ ...item, output: 'A post.' }, message])),
    ]) {
      checkEveryClient(events, (reply, wireFormat) => {
        expect(textIn(reply)).toBe('Found.')
        // The round trip has no tools of the request, which a real reply repeats.
        if (wireFormat === 'responses') return
        expect(callsIn(reply)).toEqual([])
        expect(reply.choices[0]?.end?.reason).toBe('stop')
      })
      const [first] = partsOf(collectReply(events))
      expect(first).toMatchObject({ kind: 'opaque', value: { type: 'custom_tool_call', input: item.input } })
    }
    const relay = wireFormats.responses.passthrough.createRelay(createContext())
    for (const frame of streamOf(vendorTools)) relay.pass(frame)
    expect(relay.summary).toMatchObject({ toolCalls: [], finishReasons: [{ reason: 'stop' }] })
  })

  test('is a tool call if the client declared the tool', () => {
    for (const events of [
      decodeFrames('responses', streamOf(clientTools)),
      readWhole('responses', response(clientTools, [item, message])),
    ])
      expect(callsIn(collectReply(events))).toEqual([['x_keyword_search', item.input]])
  })

  test('in a history, it is not a pending tool call', () => {
    const input = [{ role: 'user', content: 'Posts?' }, item, message, { role: 'user', content: 'More.' }]
    const call = wireFormats.responses.client.decodeRequest({ input })
    const { body } = wireFormats.chat.upstream.encodeRequest(call, createTarget('chat'))
    expect(JSON.stringify(body)).not.toContain('tool_calls')
  })
})

describe('R29 a tool that was loaded by tool search', () => {
  const item = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'get_weather',
    namespace: 'get_weather',
    arguments: '{"city":"Graz"}',
  }

  test('has its original name in every format', () => {
    const events = readWhole('responses', { id: 'resp_1', status: 'completed', output: [item] })
    checkEveryClient(events, (reply) => expect(callsIn(reply)).toEqual([['get_weather', '{"city":"Graz"}']]))
  })

  test('has its original name in the history', () => {
    const input = [item, { type: 'function_call_output', call_id: 'call_1', output: 'snow' }]
    const tools = [{ type: 'function', name: 'get_weather', defer_loading: true }, { type: 'tool_search' }]
    const call = wireFormats.responses.client.decodeRequest({ input, tools })
    const { body } = wireFormats.chat.upstream.encodeRequest(call, createTarget('chat'))
    expect(body).toMatchObject({
      messages: [{ tool_calls: [{ function: { name: 'get_weather' } }] }, { role: 'tool' }],
      tools: [{ function: { name: 'get_weather' } }],
    })
  })
})

describe('R29 a tool in a namespace that tool search loaded', () => {
  const item = {
    id: 'fc_1',
    type: 'function_call',
    status: 'completed',
    call_id: 'call_1',
    name: 'list_orders',
    namespace: 'crm',
    arguments: '{}',
  }
  const call = { type: 'function_call', call_id: 'call_1', name: 'list_orders', namespace: 'crm' }

  test('has its name and namespace for a client of the vendor’s format, in the reply and the history', () => {
    const events = readWhole('responses', { id: 'resp_1', status: 'completed', output: [item] })
    const encoded = wireFormats.responses.client.encodeReply(collectReply(events), createContext(), cost)
    expect(encoded).toMatchObject({ output: [call] })
    const input = [item, { type: 'function_call_output', call_id: 'call_1', output: 'none' }]
    const request = wireFormats.responses.client.decodeRequest({ input, tools: [{ type: 'tool_search' }] })
    const { body } = wireFormats.responses.upstream.encodeRequest(request, createTarget('responses'))
    expect(body).toMatchObject({ input: [call, { call_id: 'call_1' }] })
  })

  test('has the name that the request declares outside of namespaces', () => {
    const tools = [{ type: 'function', name: 'list_orders' }]
    const events = readWhole('responses', { id: 'resp_1', status: 'completed', output: [item], tools })
    checkEveryClient(events, (reply) => expect(callsIn(reply)).toEqual([['list_orders', '{}']]))
  })
})

describe('R29 a Gemini reply that ended with an invalid tool call', () => {
  const reasons = [
    'UNEXPECTED_TOOL_CALL',
    'MALFORMED_FUNCTION_CALL',
    'TOO_MANY_TOOL_CALLS',
    'MALFORMED_RESPONSE',
  ]
  const replyWith = (parts: object[], finishReason: string) => ({
    responseId: 'r1',
    modelVersion: 'gemini',
    candidates: [{ index: 0, content: { role: 'model', parts }, finishReason, finishMessage: 'Why.' }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 },
  })
  const functionCall = { name: 'weather', args: { city: 'Graz' } }

  test.each(reasons)('%s keeps the content', (reason) => {
    const body = replyWith([{ text: 'Look.' }, { functionCall }], reason)
    for (const events of [readWhole('gemini', body), decodeFrames('gemini', framesFor('gemini', [body]))]) {
      checkEveryClient(events, (reply) => {
        expect(textIn(reply)).toBe('Look.')
        expect(callsIn(reply)).toEqual([['weather', '{"city":"Graz"}']])
        expect(reply.choices[0]?.end?.reason).toBe('tool_calls')
        expect(reply.failure).toBeNull()
      })
      expect(collectReply(events).choices[0]?.end).toMatchObject({ native: reason, explanation: 'Why.' })
    }
    const relay = wireFormats.gemini.passthrough.createRelay(createContext())
    for (const frame of framesFor('gemini', [body])) relay.pass(frame)
    expect(relay.summary.finishReasons).toEqual([{ reason: 'tool_calls', native: reason }])
    expect(relay.end(zeroUsage, cost)).toContain(`"finishReason":"${reason}"`)
  })

  test.each(reasons)('%s without content is an error', (reason) => {
    for (const parts of [[], [{ text: '' }], [{ text: 'Hm.', thought: true }]]) {
      const body = replyWith(parts, reason)
      expect(collectReply(readWhole('gemini', body)).choices[0]?.end?.reason).toBe('error')
      const relay = wireFormats.gemini.passthrough.createRelay(createContext())
      for (const frame of framesFor('gemini', [body])) relay.pass(frame)
      expect(relay.summary.finishReasons).toEqual([{ reason: 'error', native: reason }])
    }
  })

  test('a Gemini client receives the native finish reason', () => {
    const events = readWhole('gemini', replyWith([{ functionCall }], 'UNEXPECTED_TOOL_CALL'))
    const encoded = wireFormats.gemini.client.encodeReply(collectReply(events), createContext(), cost)
    expect(encoded).toMatchObject({ candidates: [{ finishReason: 'UNEXPECTED_TOOL_CALL' }] })
  })
})

describe('R29 the text of a final chunk before an error', () => {
  const error = new GatewayError('upstream_failed')

  test.each([
    [
      'chat',
      [
        { id: 'c', choices: [{ index: 0, delta: { content: 'Be' }, finish_reason: null }] },
        { id: 'c', choices: [{ index: 0, delta: { content: 'fore' }, finish_reason: 'stop' }] },
        { error: { message: 'overloaded', code: 503 } },
      ],
    ],
    [
      'gemini',
      [
        { candidates: [{ index: 0, content: { parts: [{ text: 'Be' }] } }] },
        { candidates: [{ index: 0, content: { parts: [{ text: 'fore' }] }, finishReason: 'STOP' }] },
        { error: { code: 503, message: 'overloaded', status: 'UNAVAILABLE' } },
      ],
    ],
  ] as [GenerateWireFormat, JsonObject[]][])(
    'is preserved in %s and does not end the reply',
    (wireFormat, events) => {
      const frames = framesFor(wireFormat, events)
      const relay = wireFormats[wireFormat].passthrough.createRelay(createContext())
      const passed = frames.map((frame) => relay.pass(frame)).join('') + relay.fail(error)
      expect(relay.summary.failure).not.toBeNull()
      const read = collectReply(decodeFrames(wireFormat, parseFrames(passed)))
      expect(textIn(read)).toBe('Before')
      expect(read.failure).not.toBeNull()
      expect(passed).not.toMatch(/"(?:finish_reason":"stop|finishReason)"/)
      expect(textIn(collectReply(decodeFrames(wireFormat, frames)))).toBe('Before')
    },
  )
})

describe('R29 a tool call without arguments', () => {
  const chatCall = (fields: object) => ({
    index: 0,
    id: 'call_1',
    type: 'function',
    function: { name: 'now', ...fields },
  })
  const emptyArguments: [string, object][] = [
    ['empty', { arguments: '' }],
    ['null', { arguments: null }],
    ['missing', {}],
  ]
  const item = (fields: object) => ({
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_1',
    name: 'now',
    ...fields,
  })
  const chatStream = (fields: object) => [
    ...framesFor('chat', [
      { id: 'c', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] },
      { id: 'c', choices: [{ index: 0, delta: { tool_calls: [chatCall(fields)] }, finish_reason: null }] },
      { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
    ]),
    done,
  ]

  test.each(emptyArguments)('has an empty object in every format: %s', (_, fields) => {
    const message = { role: 'assistant', content: null, tool_calls: [chatCall(fields)] }
    const replies = [
      decodeFrames('chat', chatStream(fields)),
      readWhole('chat', { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      readWhole('responses', { id: 'r', status: 'completed', output: [item(fields)] }),
      decodeFrames(
        'responses',
        framesFor('responses', [
          { type: 'response.created', response: { id: 'r' } },
          { type: 'response.output_item.added', output_index: 0, item: item(fields) },
          { type: 'response.output_item.done', output_index: 0, item: item(fields) },
          { type: 'response.completed', response: { id: 'r', status: 'completed', output: [] } },
        ]),
      ),
      readWhole('messages', { id: 'm', content: [{ type: 'tool_use', id: 'call_1', name: 'now' }] }),
      readWhole('gemini', { candidates: [{ content: { parts: [{ functionCall: { name: 'now' } }] } }] }),
    ]
    for (const events of replies)
      checkEveryClient(events, (reply) => expect(callsIn(reply)).toEqual([['now', '{}']]))
  })

  test.each(emptyArguments)('has an empty object in a reply that is passed through: %s', (_, fields) => {
    const message = { role: 'assistant', content: null, tool_calls: [chatCall(fields)] }
    const chat = wireFormats.chat.passthrough.passReply(
      { choices: [{ message, finish_reason: 'stop' }] },
      createContext(),
      cost,
      zeroUsage,
    )
    expect(chat).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { arguments: '{}' } }] } }],
    })
    const frames = relayFrames('chat', chatStream(fields)).map((chunk) => ({
      event: '',
      data: JSON.stringify(chunk),
    }))
    const toolCalls = frames.flatMap(({ data }) => JSON.parse(data).choices[0]?.delta?.tool_calls ?? [])
    expect(
      toolCalls.map((delta: JsonObject) => (delta.function as JsonObject).arguments ?? '').join(''),
    ).toBe('{}')
    const passed = relayFrames(
      'responses',
      framesFor('responses', [
        { type: 'response.created', response: { id: 'r' } },
        { type: 'response.output_item.done', output_index: 0, item: item({ arguments: '' }) },
        { type: 'response.completed', response: { id: 'r', status: 'completed', output: [item(fields)] } },
      ]),
    )
    expect(passed.at(-2)).toMatchObject({ item: { arguments: '{}' } })
    expect(passed.at(-1)).toMatchObject({ response: { output: [{ arguments: '{}' }] } })
    const responses = wireFormats.responses.passthrough.passReply(
      { output: [item(fields)] },
      createContext(),
      cost,
      zeroUsage,
    )
    expect(responses).toMatchObject({ output: [{ arguments: '{}' }] })
  })

  test('streamed arguments are unchanged', () => {
    const frames = [
      ...framesFor('chat', [
        { id: 'c', choices: [{ index: 0, delta: { content: 'a' }, finish_reason: null }] },
        {
          id: 'c',
          choices: [{ index: 0, delta: { tool_calls: [chatCall({ arguments: '' })] }, finish_reason: null }],
        },
        ...['{"a"', ':1}'].map((delta) => ({
          id: 'c',
          choices: [
            {
              index: 0,
              delta: { tool_calls: [{ index: 0, function: { arguments: delta } }] },
              finish_reason: null,
            },
          ],
        })),
        { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }] },
      ]),
      done,
    ]
    const toolCalls = relayFrames('chat', frames).flatMap((chunk) => {
      const [choice] = chunk.choices as JsonObject[]
      return ((choice?.delta as JsonObject | undefined)?.tool_calls ?? []) as JsonObject[]
    })
    expect(toolCalls.map((delta) => (delta.function as JsonObject).arguments).join('')).toBe('{"a":1}')
  })

  test.each(emptyArguments)('is sent to every upstream as an empty object: %s', (_, fields) => {
    const chatBody = { messages: [{ role: 'assistant', content: null, tool_calls: [chatCall(fields)] }] }
    const responsesBody = { input: [item(fields)] }
    const calls = [
      wireFormats.chat.client.decodeRequest(chatBody),
      wireFormats.responses.client.decodeRequest(responsesBody),
    ]
    for (const call of calls) {
      for (const wireFormat of generateWireFormats) {
        const { body } = wireFormats[wireFormat].upstream.encodeRequest(call, createTarget(wireFormat))
        const text = JSON.stringify(body)
        expect(text).toMatch(/"(?:arguments":"\{\}"|input":\{\}|args":\{\})/)
      }
    }
    const passedChat = wireFormats.chat.passthrough.passRequest(chatBody, createTarget('chat')).body
    expect(passedChat).toMatchObject({ messages: [{ tool_calls: [{ function: { arguments: '{}' } }] }] })
    const passed = wireFormats.responses.passthrough.passRequest(
      responsesBody,
      createTarget('responses'),
    ).body
    expect(passed).toMatchObject({ input: [{ arguments: '{}' }] })
  })
})

describe('R29 a citation without a URL', () => {
  const text = 'The ferry leaves at 8.'
  const annotations = [
    { type: 'file_citation', index: 21, file_id: 'file-1', filename: 'ferry.pdf' },
    {
      type: 'container_file_citation',
      container_id: 'cntr_1',
      file_id: 'cfile_1',
      filename: 'plot.png',
      start_index: 4,
      end_index: 21,
    },
  ]
  const content = [{ type: 'output_text', text, annotations, logprobs: [] }]
  const fromResponses = readWhole('responses', {
    id: 'r',
    status: 'completed',
    output: [{ id: 'm', type: 'message', role: 'assistant', content }],
  })
  const fromGemini = readWhole('gemini', {
    candidates: [
      {
        content: { parts: [{ text }] },
        finishReason: 'STOP',
        groundingMetadata: {
          groundingChunks: [{ retrievedContext: { title: 'ferry.pdf', text: 'Departure 08:00' } }],
          groundingSupports: [{ segment: { startIndex: 4, endIndex: 21 }, groundingChunkIndices: [0] }],
        },
      },
    ],
  })
  const citationsIn = (reply: Reply) =>
    partsOf(reply).flatMap((part) => (part.kind === 'text' ? (part.citations ?? []) : []))

  test.each(['chat', 'messages', 'responses', 'gemini'] as const)(
    'has its file for a client of %s',
    (wireFormat) => {
      for (const mode of replyModes) {
        const files = citationsIn(roundTripReply(wireFormat, mode, fromResponses)).map(({ file }) => file)
        expect(files).toContainEqual(expect.objectContaining({ id: 'file-1', name: 'ferry.pdf' }))
        expect(files).toContainEqual(expect.objectContaining({ id: 'cfile_1', name: 'plot.png' }))
        const [citation] = citationsIn(roundTripReply(wireFormat, mode, fromGemini))
        expect(citation).toMatchObject({ title: 'ferry.pdf', file: { name: 'ferry.pdf' } })
      }
    },
  )

  test('is the citation of a URN for a client of chat, which takes URLs only', () => {
    const encoded = wireFormats.chat.client.encodeReply(collectReply(fromGemini), createContext(), cost)
    const urlCitation = {
      url: 'urn:file:ferry.pdf',
      title: 'ferry.pdf',
      content: 'Departure 08:00',
      start_index: 4,
      end_index: 21,
    }
    const annotations = [{ type: 'url_citation', url_citation: urlCitation }]
    expect(encoded).toMatchObject({ choices: [{ message: { annotations } }] })
  })

  test.each([
    ['a document', { documentName: 'stores/s/documents/d', title: 'ferry.pdf' }],
    ['a medium', { title: 'plan', fileSearchStore: 'stores/s', media_id: 'stores/s/blobs/b' }],
    ['a store alone', { text: 'Departure 08:00', fileSearchStore: 'stores/s' }],
  ])('of %s in the vendor’s file search reaches every client', (_, retrievedContext) => {
    const reply = readWhole('gemini', {
      candidates: [
        {
          content: { parts: [{ text }] },
          finishReason: 'STOP',
          groundingMetadata: { groundingChunks: [{ retrievedContext, web: {} }] },
        },
      ],
    })
    const [sent] = citationsIn(collectReply(reply))
    for (const wireFormat of ['chat', 'messages', 'responses', 'gemini'] as const)
      for (const mode of replyModes) {
        const [received] = citationsIn(roundTripReply(wireFormat, mode, reply))
        expect(received?.file).toEqual(sent?.file)
      }
  })

  test('is unchanged for a client of the vendor’s format', () => {
    const encoded = wireFormats.responses.client.encodeReply(
      collectReply(fromResponses),
      createContext(),
      cost,
    )
    expect(encoded).toMatchObject({ output: [{ content: [{ annotations }] }] })
  })

  test('is not sent to a vendor that did not create it', () => {
    const encoded = wireFormats.messages.client.encodeReply(
      collectReply(fromResponses),
      createContext(),
      cost,
    )
    const body = { max_tokens: 10, messages: [{ role: 'assistant', content: encoded.content }] }
    const passed = wireFormats.messages.passthrough.passRequest(body, createTarget('messages')).body
    expect(JSON.stringify(passed)).not.toContain('char_location')
  })
})
