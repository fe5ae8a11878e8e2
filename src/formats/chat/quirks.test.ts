import { describe, expect, test } from 'bun:test'
import {
  cost,
  createContext,
  delta,
  doneFrame,
  parseFrames,
  toFrames,
} from '../../../test/formats/fixtures/chat.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { collectReply } from '../call/event.ts'
import { zeroUsage } from '../call/usage.ts'
import { chat } from './chat.ts'

/** The reply of a vendor's chunks: read directly, and relayed to a client and read there. */
function readAndRelay(chunks: object[], done = true) {
  const frames = [...toFrames(chunks), ...(done ? [doneFrame] : [])]
  const reader = chat.upstream.createReader()
  const read = collectReply([...frames.flatMap((frame) => reader.read(frame)), ...reader.end()])
  const relay = chat.passthrough.createRelay(createContext())
  const passed = frames.map((frame) => relay.pass(frame)).join('')
  const text = passed + relay.end(relay.summary.usage ?? zeroUsage, cost)
  const client = chat.upstream.createReader()
  const relayed = collectReply([...parseFrames(text).flatMap((frame) => client.read(frame)), ...client.end()])
  return { read, relayed, summary: relay.summary, text }
}

function partsOf(chunks: object[]) {
  const { read, relayed, summary } = readAndRelay(chunks)
  expect(relayed.choices).toEqual(read.choices)
  expect(summary.hasContent).toBe(true)
  return read.choices[0]?.parts
}

function decodeWhole(message: object, more: object = {}, finish = 'stop') {
  const body = { id: 'x', model: 'm', choices: [{ index: 0, message, finish_reason: finish }], ...more }
  return collectReply(chat.upstream.decodeReply(body))
}

const call = (
  index: number | undefined,
  id: string | undefined,
  name: string | undefined,
  argumentsValue: unknown,
) => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id, type: 'function' }),
  function: { ...(name !== undefined && { name }), arguments: argumentsValue },
})
const finished = delta({}, 'stop')

describe('reasoning', () => {
  const reasoning = { kind: 'reasoning', text: 'Hm. So.', summary: [], format: 'unknown' }
  const text = { kind: 'text', text: 'Yes.' }

  test.each(['reasoning', 'reasoning_content'])('in the field %s', (name) => {
    const chunks = [
      delta({ role: 'assistant', content: null, [name]: '' }),
      delta({ content: null, [name]: 'Hm.' }),
      delta({ content: null, [name]: ' So.' }),
      delta({ content: 'Yes', [name]: null }),
      delta({ content: '.', [name]: null }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual([reasoning, text] as never)
    expect(decodeWhole({ content: 'Yes.', [name]: 'Hm. So.' }).choices[0]?.parts).toEqual([
      reasoning,
      text,
    ] as never)
  })

  test('as chunks within the content', () => {
    const thinkingContent = (text: string) => ({
      content: [{ type: 'thinking', thinking: [{ type: 'text', text }] }],
    })
    const chunks = [
      delta(thinkingContent('Hm.')),
      delta(thinkingContent(' So.')),
      delta({ content: [{ type: 'text', text: 'Yes' }] }),
      delta({ content: '.' }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual([reasoning, text] as never)
  })

  test('as details of another gateway, with the signature in a separate delta', () => {
    const entry = (fields: object) => ({
      reasoning_details: [{ type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0, ...fields }],
    })
    const chunks = [
      delta({ reasoning: 'Hm.', ...entry({ text: 'Hm.' }) }),
      delta({ reasoning: ' So.', ...entry({ text: ' So.' }) }),
      delta(entry({ signature: 'Er8B' })),
      delta({ content: 'Yes.' }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual([
      { ...reasoning, format: 'vendor_a-v1', signature: 'Er8B' },
      text,
    ] as never)
  })
})

describe('tool calls', () => {
  const two = [
    { kind: 'tool-call', id: 'a1', name: 'f', arguments: '{"x":1}' },
    { kind: 'tool-call', id: 'b2', name: 'g', arguments: '{}' },
  ]

  test('with indexes, in interleaved deltas', () => {
    const chunks = [
      delta({ tool_calls: [call(0, 'a1', 'f', '')] }),
      delta({ tool_calls: [call(1, 'b2', 'g', '')] }),
      delta({ tool_calls: [call(0, undefined, undefined, '{"x"')] }),
      delta({ tool_calls: [call(1, undefined, undefined, '{')] }),
      delta({ tool_calls: [call(0, undefined, undefined, ':1}')] }),
      delta({ tool_calls: [call(1, undefined, undefined, '}')] }),
      delta({}, 'tool_calls'),
    ]
    expect(partsOf(chunks)).toEqual(two as never)
  })

  test('without indexes: each is a new call', () => {
    const toolCalls = [call(undefined, 'a1', 'f', '{"x":1}'), call(undefined, 'b2', 'g', '{}')]
    expect(partsOf([delta({ tool_calls: toolCalls }, 'tool_calls')])).toEqual(two as never)
    expect(partsOf([...toolCalls.map((toolCall) => delta({ tool_calls: [toolCall] })), finished])).toEqual(
      two as never,
    )
  })

  test('all with index 0, distinguished by their ids', () => {
    const toolCalls = [call(0, 'a1', 'f', '{"x":1}'), call(0, 'b2', 'g', '{}')]
    expect(partsOf([...toolCalls.map((toolCall) => delta({ tool_calls: [toolCall] })), finished])).toEqual(
      two as never,
    )
  })

  test('with id and name repeated in every delta', () => {
    const chunks = [
      delta({ tool_calls: [call(0, 'a1', 'f', '{"x"')] }),
      delta({ tool_calls: [call(0, 'a1', 'f', ':1}')] }),
      delta({ tool_calls: [call(1, 'b2', 'g', '{}')] }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual(two as never)
  })

  test('with arguments as an object', () => {
    const chunks = [
      delta({ tool_calls: [call(0, 'a1', 'f', { x: 1 })] }),
      delta({ tool_calls: [call(1, 'b2', 'g', {})] }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual(two as never)
  })

  test('without an id get one', () => {
    const reply = decodeWhole({ tool_calls: [call(undefined, undefined, 'f', '{}')] })
    expect(reply.choices[0]?.parts).toMatchObject([{ kind: 'tool-call', id: 'call_x_0', name: 'f' }])
  })

  test('in the deprecated `function_call`', () => {
    const chunks = [
      delta({ function_call: { name: 'f', arguments: '{"x"' } }),
      delta({ function_call: { arguments: ':1}' } }),
      delta({}, 'function_call'),
    ]
    const { read } = readAndRelay(chunks)
    expect(read.choices[0]?.parts).toMatchObject([{ kind: 'tool-call', name: 'f', arguments: '{"x":1}' }])
    expect(read.choices[0]?.end?.reason).toBe('tool_calls')
  })

  test('that take free text', () => {
    const chunks = [
      delta({
        tool_calls: [{ index: 0, id: 'c', type: 'custom', custom: { name: 'patch', input: '*** ' } }],
      }),
      delta({ tool_calls: [{ index: 0, custom: { input: 'Begin' } }] }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual([
      { kind: 'tool-call', id: 'c', name: 'patch', arguments: '*** Begin', custom: true },
    ])
  })

  test('with an attached signature (R29)', () => {
    const signed = { ...call(0, 'a1', 'f', '{}'), extra_content: { google: { thought_signature: 'CiQB' } } }
    expect(partsOf([delta({ tool_calls: [signed] }), finished])).toEqual([
      { kind: 'reasoning', id: 'a1', text: '', summary: [], signature: 'CiQB', format: 'vendor_c-v1' },
      { kind: 'tool-call', id: 'a1', name: 'f', arguments: '{}' },
    ])
  })
})

describe('finish reasons', () => {
  test.each([
    ['stop', 'stop'],
    ['eos', 'stop'],
    ['end_turn', 'stop'],
    ['length', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_length', 'length'],
    ['function_call', 'tool_calls'],
    ['content_filter', 'content_filter'],
    ['SAFETY', 'content_filter'],
    ['insufficient_system_resource', 'error'],
  ])('%s is %s', (native, reason) => {
    const { read, relayed, summary } = readAndRelay([delta({ content: 'x' }), delta({}, native)])
    expect(read.choices[0]?.end).toMatchObject({ reason, native } as never)
    expect(relayed.choices[0]?.end).toMatchObject({ reason, native } as never)
    expect(summary.finishReasons).toEqual([{ reason, native }])
  })

  test('`stop` after tool calls becomes `tool_calls`', () => {
    const { read, summary } = readAndRelay([delta({ tool_calls: [call(0, 'a', 'f', '{}')] }), finished])
    expect(read.choices[0]?.end).toMatchObject({ reason: 'tool_calls', native: 'stop' })
    expect(summary.finishReasons).toEqual([{ reason: 'tool_calls', native: 'stop' }])
  })
})

describe('usage (R9)', () => {
  const counts = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
  const plain = { ...zeroUsage, input: 10, output: 5 }

  test.each<[string, object[]]>([
    ['in a chunk of its own', [finished, { choices: [], usage: counts }]],
    ['with the last choice', [{ ...finished, usage: counts }]],
    ['in x_groq', [{ ...finished, x_groq: { id: 'r', usage: counts } }]],
    ['within the choice', [{ choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: counts }] }]],
    [
      'growing in every chunk',
      [
        { ...delta({ content: '!' }), usage: { prompt_tokens: 10, completion_tokens: 1 } },
        { ...finished, usage: counts },
      ],
    ],
  ])('%s', (_place, chunks) => {
    const { read, relayed, summary } = readAndRelay([delta({ content: 'Hi' }), ...chunks])
    expect(read.usage).toEqual(plain)
    expect(summary.usage).toEqual(plain)
    expect(relayed.usage).toEqual({ ...plain, reportedCost: cost.total })
  })

  const usageOf = (usage: JsonObject) => decodeWhole({ content: 'x' }, { usage }).usage

  test('reasoning counted outside the completion shows in the total', () => {
    const usage = {
      prompt_tokens: 12,
      completion_tokens: 1,
      total_tokens: 303,
      prompt_tokens_details: { cached_tokens: 11, text_tokens: 12 },
      completion_tokens_details: { reasoning_tokens: 290 },
      cost_in_usd_ticks: 1_466_250,
    }
    expect(usageOf(usage)).toEqual({
      ...zeroUsage,
      input: 1,
      cacheRead: 11,
      output: 1,
      reasoning: 290,
      reportedCost: 0.000146625,
    })
  })

  test('reasoning counted within the completion is subtracted from it', () => {
    const usage = { ...counts, completion_tokens_details: { reasoning_tokens: 4 } }
    expect(usageOf(usage)).toEqual({ ...zeroUsage, input: 10, output: 1, reasoning: 4 })
  })

  test('cache hits in a vendor field', () => {
    const usage = { ...counts, prompt_cache_hit_tokens: 8, prompt_cache_miss_tokens: 2 }
    expect(usageOf(usage)).toEqual({ ...zeroUsage, input: 2, cacheRead: 8, output: 5 })
  })

  test('a reported cost as a number or as an object', () => {
    expect(usageOf({ ...counts, cost: 0.5 })?.reportedCost).toBe(0.5)
    expect(usageOf({ ...counts, cost: { total_cost: 0.25, request_cost: 0.1 } })?.reportedCost).toBe(0.25)
    expect(usageOf({ ...counts, cost: -1 })?.reportedCost).toBeNull()
  })

  test('invalid numbers are ignored, and usage without any count is no usage', () => {
    const usage = {
      prompt_tokens: -5,
      completion_tokens: 1e18,
      prompt_tokens_details: { cached_tokens: '9' },
    }
    expect(usageOf(usage)).toBeNull()
    expect(usageOf({ ...usage, completion_tokens: 0 })).toEqual(zeroUsage)
  })

  test('overlapping counts never sum to more than the total', () => {
    const usage = { prompt_tokens: 10, prompt_tokens_details: { cached_tokens: 8, image_tokens: 7 } }
    expect(usageOf(usage)).toEqual({ ...zeroUsage, cacheRead: 8, inputImage: 2 })
  })
})

describe('other content of a stream', () => {
  test('sources next to the choices become citations', () => {
    const sources = {
      citations: ['https://a.example', 'https://b.example'],
      search_results: [{ title: 'A', url: 'https://a.example', snippet: 'words' }],
    }
    const chunks = [
      { ...delta({ content: 'Hi [1]' }), ...sources },
      { ...finished, ...sources },
    ]
    expect(partsOf(chunks)).toEqual([
      {
        kind: 'text',
        text: 'Hi [1]',
        citations: [{ url: 'https://a.example', title: 'A', citedText: 'words' }],
      },
    ])
  })

  test('a first chunk without choices, with content filter results of the prompt', () => {
    const chunks = [{ id: '', model: '', choices: [], prompt_filter_results: [{ prompt_index: 0 }] }]
    const { read, text } = readAndRelay([...chunks, delta({ content: 'Hi' }), finished])
    expect(read.isComplete).toBe(true)
    expect(text).toContain('prompt_filter_results')
  })

  test('an error in the middle', () => {
    const error = { message: 'The server is overloaded', type: 'overloaded_error', code: 529 }
    const { read, summary } = readAndRelay([delta({ content: 'Hi' }), { error }])
    expect(read).toMatchObject({ isComplete: false, failure: { kind: 'provider_overloaded', code: '529' } })
    expect(summary).toMatchObject({ isComplete: false, failure: { kind: 'provider_overloaded' } })
  })

  test('an event that is not JSON', () => {
    const reader = chat.upstream.createReader()
    expect(reader.read({ event: '', data: '<html>502</html>' })).toMatchObject([{ type: 'reply-error' }])
  })

  test('an end without any choice is a failure', () => {
    const reader = chat.upstream.createReader()
    expect(reader.read(doneFrame)).toMatchObject([{ type: 'reply-error' }])
    expect(reader.end()).toEqual([])
  })

  test('logprobs stay with their text', () => {
    const logprobs = { content: [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top_logprobs: [] }] }
    const chunks = [
      { choices: [{ index: 0, delta: { content: 'Hi' }, logprobs, finish_reason: null }] },
      finished,
    ]
    expect(partsOf(chunks)).toEqual([
      { kind: 'text', text: 'Hi', logprobs: [{ token: 'Hi', logprob: -0.1, bytes: [72, 105], top: [] }] },
    ])
  })

  test('audio with its transcript', () => {
    const chunks = [
      delta({ role: 'assistant', audio: { id: 'audio_1', transcript: 'Hel' } }),
      delta({ audio: { data: 'AAAA', transcript: 'lo' } }),
      delta({ audio: { data: 'BBBB' } }),
      finished,
    ]
    expect(partsOf(chunks)).toEqual([
      { kind: 'audio', id: 'audio_1', data: 'AAAABBBB', format: '', transcript: 'Hello' },
    ])
  })

  test('images and refusals', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } }
    expect(partsOf([delta({ images: [image] }), delta({ refusal: 'No.' }), finished])).toEqual([
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' } },
      { kind: 'refusal', text: 'No.' },
    ])
  })
})

describe('a whole reply', () => {
  test('that is an error despite its status', () => {
    expect(
      collectReply(chat.upstream.decodeReply({ error: { message: 'No such model', code: 404 } })).failure,
    ).toMatchObject({
      kind: 'not_found',
      status: null,
      message: 'No such model',
      code: '404',
    })
  })

  test('without choices', () => {
    expect(collectReply(chat.upstream.decodeReply({ id: 'x' })).failure?.kind).toBe('provider_unavailable')
    expect(collectReply(chat.upstream.decodeReply({ message: 'rate limit' })).failure?.message).toBe(
      'rate limit',
    )
  })
})

describe('a vendor that sends both a delta and a message', () => {
  const text = { kind: 'text', text: 'Paris is the capital.' }
  const choice = (content: string, message: string, finish: string | null = null) => ({
    choices: [
      {
        index: 0,
        delta: { role: 'assistant', content },
        message: { role: 'assistant', content: message },
        finish_reason: finish,
      },
    ],
  })

  test('fills the message of a whole reply, beside an empty delta', () => {
    const body = { id: 'x', model: 'm', ...choice('', text.text, 'stop') }
    expect(collectReply(chat.upstream.decodeReply(body)).choices[0]?.parts).toEqual([text] as never)
    const passed = chat.passthrough.passReply(body, createContext(), cost, zeroUsage)
    expect(passed.choices).toMatchObject([{ message: { content: text.text } }])
    expect(JSON.stringify(passed.choices)).not.toContain('"delta"')
  })

  test('fills the delta of a stream, beside the message so far', () => {
    const chunks = [
      choice('Paris', 'Paris'),
      choice(' is the capital.', text.text),
      choice('', text.text, 'stop'),
    ]
    expect(partsOf(chunks)).toEqual([text] as never)
    expect(readAndRelay(chunks).text).not.toContain('"message"')
  })

  test('sends a whole reply as one chunk of a stream', () => {
    expect(partsOf([choice('', text.text, 'stop')])).toEqual([text] as never)
  })
})

test('a member that is present but empty does not hide another', () => {
  const usage = {
    prompt_tokens: 0,
    input_tokens: 30,
    output_tokens: 7,
    prompt_tokens_details: {},
    prompt_token_details: { cached_tokens: 20 },
    num_search_queries: 2,
    server_tool_use_details: {},
  }
  expect(decodeWhole({ content: 'Yes.' }, { usage }).usage).toMatchObject({
    input: 10,
    cacheRead: 20,
    output: 7,
    webSearches: 2,
  })
  const sources = { search_results: [{ title: 'no address' }], citations: ['https://a.example'] }
  const [part] = decodeWhole({ content: 'Yes.' }, sources).choices[0]?.parts ?? []
  expect(part).toMatchObject({ citations: [{ url: 'https://a.example' }] })
  expect(chat.upstream.decodeError(400, { error: {}, message: 'No such model.' }).message).toBe(
    'No such model.',
  )
  const turn = { role: 'assistant', content: 'Yes.', reasoning: '', reasoning_content: 'Look.' }
  const { messages } = chat.client.decodeRequest({ messages: [{ role: 'user', content: 'Why?' }, turn] })
  expect(messages[1]?.parts).toContainEqual(expect.objectContaining({ kind: 'reasoning', text: 'Look.' }))
})

test('R9 tokens written to a cache do not overlap those read from it', () => {
  const decode = (details: object) =>
    decodeWhole(
      { content: 'Yes.' },
      { usage: { prompt_tokens: 2600, completion_tokens: 1, prompt_tokens_details: details } },
    ).usage
  expect(decode({ cached_tokens: 2000, cache_write_tokens: 400 })).toMatchObject({
    input: 200,
    cacheRead: 2000,
    cacheWrite: 400,
  })
  expect(decode({ cached_tokens: 2000, cache_write_tokens: 2400 })).toMatchObject({
    input: 200,
    cacheRead: 2000,
    cacheWrite: 400,
  })
})

test.each([
  ['its name', 'report.pdf', 'report.pdf', { name: 'report.pdf' }],
  ['its id', 'file-1', 'report.pdf', { id: 'file-1', name: 'report.pdf' }],
])('a citation of a file by %s says which it is', (_, urn, title, file) => {
  const url_citation = { url: `urn:file:${urn}`, title, start_index: 0, end_index: 4 }
  const [part] =
    decodeWhole({ content: 'Yes.', annotations: [{ type: 'url_citation', url_citation }] }).choices[0]
      ?.parts ?? []
  expect(part?.kind === 'text' && part.citations?.[0]?.file).toEqual(file)
})
