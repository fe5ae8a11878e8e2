import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../../test/formats/fixtures/chat.ts'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { Message, ModelCall } from '../call/call.ts'
import { chat } from './chat.ts'
import { chatRequest } from './schema.ts'

const hello = { role: 'user', content: 'Hello' }
const decode = (body: JsonObject) => chat.client.decodeRequest({ messages: [hello], ...body })
const messages = (...list: object[]) => decode({ messages: list }).messages
const user: Message = { role: 'user', parts: [{ kind: 'text', text: 'Hello' }] }
const encode = (call: Partial<ModelCall>, target = createTarget()) =>
  chat.upstream.encodeRequest({ messages: [user], stream: false, unknown: [], ...call }, target)

function errorMessage(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof GatewayError) return error.message
    throw error
  }
  return ''
}

const schema = {
  type: 'object',
  properties: { q: { type: 'string', enum: ['a', 'b'] }, deep: { anyOf: [{ $ref: '#/$defs/d' }] } },
  required: ['q'],
  additionalProperties: false,
  $defs: { d: { type: 'null' } },
}

const wideBody = {
  model: 'acme/large',
  messages: [
    { role: 'developer', content: 'Be brief.' },
    {
      role: 'user',
      name: 'Ann',
      content: [
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'https://a.example/i.png', detail: 'low' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"q": "a"}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"ok" : true}' },
    {
      role: 'user',
      content: [
        { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBE' } },
        { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } },
      ],
    },
  ],
  tools: [
    { type: 'function', function: { name: 'look', description: 'Looks', parameters: schema, strict: true } },
    {
      type: 'custom',
      custom: {
        name: 'patch',
        format: { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "x"' } },
      },
    },
  ],
  tool_choice: { type: 'function', function: { name: 'look' } },
  parallel_tool_calls: false,
  max_completion_tokens: 100,
  temperature: 0.5,
  top_p: 0.9,
  frequency_penalty: 0.1,
  presence_penalty: -0.1,
  seed: 7,
  stop: ['END'],
  logit_bias: { '50256': -100 },
  logprobs: true,
  top_logprobs: 2,
  n: 2,
  response_format: { type: 'json_schema', json_schema: { name: 'out', schema, strict: true } },
  reasoning_effort: 'low',
  verbosity: 'high',
  modalities: ['text', 'audio'],
  audio: { voice: 'sage', format: 'mp3' },
  prediction: { type: 'content', content: 'old text' },
  prompt_cache_key: 'k',
  service_tier: 'flex',
  user: 'u-1',
  metadata: { team: 'x' },
}

describe('decoding a request', () => {
  test('and encoding it gives the same request (R32)', () => {
    const { body, dropped } = chat.upstream.encodeRequest(
      chat.client.decodeRequest(wideBody),
      createTarget({ tier: 'flex' }),
    )
    expect(body).toEqual({ ...wideBody, model: 'large-2026-09' })
    expect(dropped).toEqual([])
  })

  test('accepts a prompt instead of messages', () => {
    expect(chat.client.decodeRequest({ prompt: 'Hello' }).messages).toEqual([user])
  })

  test('lists unknown fields, without those of the gateway (R31)', () => {
    const body = {
      web_search_options: {},
      later: 1,
      gone: null,
      provider: {},
      plugins: [],
      session_id: 's',
      store: false,
    }
    expect(decode(body).unknown).toEqual(['web_search_options', 'later'])
  })

  test('accepts null for any field', () => {
    const names = [
      'tools',
      'tool_choice',
      'stop',
      'temperature',
      'response_format',
      'reasoning',
      'user',
      'metadata',
      'n',
    ]
    const body = { messages: [hello], ...Object.fromEntries(names.map((name) => [name, null])) }
    expect(chatRequest.safeParse(body).success).toBe(true)
    expect(chat.client.decodeRequest(body)).toEqual({ messages: [user], stream: false, unknown: [] })
  })

  test('accepts an image as a plain URL or as a data URL', () => {
    const [message] = messages({
      role: 'user',
      content: [
        { type: 'image_url', image_url: 'https://a.example/i.png' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
      ],
    })
    expect(message?.parts).toEqual([
      { kind: 'image', source: { kind: 'url', url: 'https://a.example/i.png' } },
      { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' } },
    ])
  })

  test('accepts flat tools and choices, and tools of unknown type', () => {
    const tools = [
      { type: 'function', name: 'f', parameters: schema },
      { type: 'custom', name: 'p' },
      { type: 'service:web_search', parameters: { max_results: 2 } },
    ]
    expect(
      chatRequest.safeParse({ messages: [hello], tools, tool_choice: { type: 'function', name: 'f' } })
        .success,
    ).toBe(true)
    const call = decode({ tools, tool_choice: { type: 'function', name: 'f' } })
    expect(call.tools).toEqual([
      { kind: 'function', name: 'f', schema },
      { kind: 'custom', name: 'p' },
      { kind: 'native', wireFormat: 'chat', type: 'service:web_search', value: tools[2]! },
    ])
    expect(call.toolChoice).toEqual({ kind: 'tool', name: 'f' })
  })

  test('accepts deprecated functions and their results', () => {
    const call = decode({
      messages: [
        hello,
        { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
        { role: 'function', name: 'f', content: '4' },
      ],
      functions: [{ name: 'f', parameters: schema }],
      function_call: 'auto',
    })
    expect(call.tools).toEqual([{ kind: 'function', name: 'f', schema }])
    const [made] = call.messages[1]?.parts ?? []
    const [result] = call.messages[2]?.parts ?? []
    expect(made).toMatchObject({ kind: 'tool-call', name: 'f' })
    expect(result).toMatchObject({ kind: 'tool-result', id: made?.kind === 'tool-call' ? made.id : '' })
  })

  test('groups the tool results of one turn into one message', () => {
    const read = messages(
      { role: 'tool', tool_call_id: 'a', content: 'A' },
      { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'B' }] },
      hello,
    )
    expect(read).toHaveLength(2)
    expect(read[0]?.parts).toMatchObject([
      { id: 'a', content: [{ text: 'A' }] },
      { id: 'b', content: [{ text: 'B' }] },
    ])
  })

  test('decodes reasoning options in every form', () => {
    expect(decode({ reasoning: { effort: 'high', exclude: true } }).reasoning).toEqual({
      effort: 'high',
      exclude: true,
    })
    expect(decode({ reasoning_effort: 'minimal' }).reasoning).toEqual({ effort: 'minimal' })
    expect(decode({ reasoning: { max_tokens: 2000 } }).reasoning).toEqual({ maxTokens: 2000 })
    expect(decode({ include_reasoning: false }).reasoning).toEqual({ exclude: true })
    const update = { role: 'developer', content: '', configuration_update: { reasoning: { effort: 'max' } } }
    expect(decode({ messages: [hello, update], reasoning_effort: 'low' }).reasoning?.effort).toBe('max')
  })

  test('decodes cache breakpoints', () => {
    const marked = { type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }
    const broken = { type: 'text', text: 'y', prompt_cache_breakpoint: { mode: 'explicit' } }
    const [message] = messages({ role: 'user', content: [marked, broken] })
    expect(message?.parts).toEqual([
      { kind: 'text', text: 'x', cache: { ttl: '1h' } },
      { kind: 'text', text: 'y', cache: {} },
    ])
    expect(decode({ cache_control: { type: 'ephemeral' } }).cache).toEqual({})
  })

  test.each<[string, JsonObject]>([
    ['messages', { messages: 'Hello' }],
    ['messages', { messages: undefined }],
    ['messages[0].role', { messages: [{ role: 'robot', content: 'x' }] }],
    ['messages[0].content[0].image_url', { messages: [{ role: 'user', content: [{ type: 'image_url' }] }] }],
    ['messages[0].content', { messages: [{ role: 'user', content: 5 }] }],
    ['messages[0].tool_call_id', { messages: [{ role: 'tool', content: 'x' }] }],
    ['tools[0].function.name', { tools: [{ type: 'function', function: {} }] }],
    ['n', { n: 'two' }],
  ])('the error names %s', (field, body) => {
    expect(errorMessage(() => decode(body))).toStartWith(`${field}:`)
  })

  test.each<[string, unknown]>([
    ['temperature', 'hot'],
    ['max_tokens', 0],
    ['stop', 5],
    ['tool_choice', 'maybe'],
    ['messages', []],
  ])('the schema rejects an invalid %s', (name, value) => {
    const result = chatRequest.safeParse({ messages: [hello], [name]: value })
    expect(result.error?.issues[0]?.path[0]).toBe(name)
  })
})

describe('encoding a request', () => {
  test('sends only requested fields', () => {
    expect(encode({}).body).toEqual({ model: 'large-2026-09', messages: [hello] })
  })

  test('adapts to upstreams with fewer capabilities', () => {
    const target = createTarget({ capabilities: new Set(), stream: true })
    const { body } = encode(
      { maxTokens: 9, messages: [{ role: 'developer', parts: [{ kind: 'text', text: 'x' }] }] },
      target,
    )
    expect(body).toEqual({
      model: 'large-2026-09',
      messages: [{ role: 'system', content: 'x' }],
      max_tokens: 9,
      stream: true,
    })
    expect(encode({}, createTarget({ stream: true })).body.stream_options).toEqual({ include_usage: true })
  })

  test('reports what it drops: unsupported fields, cache breakpoints, unknown fields (R31)', () => {
    const target = createTarget({ unsupportedFields: new Set(['seed', 'logit_bias']) })
    const call: Partial<ModelCall> = {
      seed: 1,
      logitBias: { a: 1 },
      temperature: 1,
      cache: {},
      unknown: ['later'],
    }
    const { body, dropped } = encode(call, target)
    expect(body).toEqual({ model: 'large-2026-09', messages: [hello], temperature: 1 })
    expect(dropped).toEqual(['cache_control', 'later', 'logit_bias', 'seed'])
  })

  test('drops the tool choice when no tool is left', () => {
    const tools: ModelCall['tools'] = [
      { kind: 'native', wireFormat: 'messages', type: 'bash_20250124', value: {} },
    ]
    const { body, dropped } = encode({ tools, toolChoice: { kind: 'required' }, parallelToolCalls: true })
    expect(body).toEqual({ model: 'large-2026-09', messages: [hello] })
    expect(dropped).toEqual(['tool:bash_20250124'])
  })

  test('encodes tool results as separate messages and moves their images after them', () => {
    const { body, dropped } = encode({
      messages: [
        {
          role: 'user',
          parts: [
            { kind: 'text', text: 'And now?' },
            { kind: 'tool-result', id: 'a', content: [{ kind: 'text', text: '{"x" :1}' }] },
            {
              kind: 'tool-result',
              id: 'b',
              isError: true,
              content: [{ kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' } }],
            },
          ],
        },
      ],
    })
    expect(body.messages).toEqual([
      { role: 'tool', tool_call_id: 'a', content: '{"x" :1}' },
      { role: 'tool', tool_call_id: 'b', content: '' },
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBO' } },
          { type: 'text', text: 'And now?' },
        ],
      },
    ])
    expect(dropped).toEqual(['is_error'])
  })

  test('reports files it cannot express', () => {
    const parts: Message['parts'] = [
      { kind: 'file', source: { kind: 'url', url: 'https://a.example/a.pdf' } },
      { kind: 'image', source: { kind: 'file', id: 'file_1' } },
      { kind: 'opaque', wireFormat: 'messages', value: { type: 'search_result' } },
      { kind: 'text', text: 'Hello' },
    ]
    const { body, dropped } = encode({ messages: [{ role: 'user', parts }] })
    expect(body.messages).toEqual([hello])
    expect(dropped).toEqual(['block:search_result', 'file', 'image'])
  })

  test('returns reasoning only to its own vendor (R29)', () => {
    const signed: Message = {
      role: 'assistant',
      parts: [
        { kind: 'reasoning', text: 'Hm', summary: [], signature: 'Er8B', format: 'vendor_a-v1' },
        { kind: 'text', text: 'Yes' },
      ],
    }
    const foreign = encode({ messages: [signed] })
    expect(foreign.body.messages).toEqual([{ role: 'assistant', content: 'Yes' }])
    expect(foreign.dropped).toEqual(['reasoning_signature'])
    const reasoningHistory = { field: 'reasoning_details' as const }
    const own = encode(
      { messages: [signed] },
      createTarget({ signatureFormat: 'vendor_a-v1', reasoningHistory }),
    )
    expect(own.body.messages).toMatchObject([
      {
        reasoning_details: [
          { type: 'reasoning.text', text: 'Hm', signature: 'Er8B', format: 'anthropic-claude-v1' },
        ],
      },
    ])
    expect(own.dropped).toEqual([])
  })

  test('sends unsigned reasoning to reasoning models', () => {
    const parts: Message['parts'] = [{ kind: 'reasoning', text: 'Hm', summary: [], format: 'unknown' }]
    const call: Partial<ModelCall> = { messages: [{ role: 'assistant', parts }] }
    const reasoningTarget = createTarget({ reasoning: { efforts: null, budget: false } })
    expect(encode(call, reasoningTarget).body.messages).toMatchObject([{ reasoning_content: 'Hm' }])
    expect(encode(call).dropped).toEqual(['reasoning'])
  })

  test('converts reasoning options to a supported effort', () => {
    const reasoningTarget = createTarget({ reasoning: { efforts: ['high', 'medium', 'low'], budget: false } })
    const effort = (reasoning: ModelCall['reasoning'], target = reasoningTarget) =>
      encode({ ...(reasoning && { reasoning }) }, target)
    expect(effort({ effort: 'max' }).body.reasoning_effort).toBe('high')
    expect(effort({ enabled: true }).body.reasoning_effort).toBe('medium')
    expect(effort({ maxTokens: 3000 }).body.reasoning_effort).toBe('low')
    expect(effort({ adaptive: true }).body.reasoning_effort).toBe('medium')
    expect(effort({ effort: 'low' }, createTarget()).body.reasoning_effort).toBe('low')
    expect(effort({ effort: 'none' }, createTarget()).body).not.toHaveProperty('reasoning_effort')
    expect(effort({ enabled: true }, createTarget()).dropped).toEqual(['reasoning'])
  })
})

describe('passing a request', () => {
  const pass = (body: JsonObject, target = createTarget()) =>
    chat.passthrough.passRequest({ messages: [hello], ...body }, target)

  test('keeps unknown fields at every level (R31)', () => {
    const body = {
      model: 'acme/large',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'x', later: 1 }], mood: 2 }],
      web_search_options: { deep: [1] },
      later: null,
      tools: [{ type: 'function', function: { name: 'f', parameters: schema, later: 3 }, later: 4 }],
    }
    const { body: passed, dropped, path } = pass(body)
    expect(passed).toEqual({ ...body, model: 'large-2026-09' })
    expect(path).toBe('/chat/completions')
    expect(dropped).toEqual([])
  })

  test('does not copy a prompt that needs no change', () => {
    const body = {
      messages: [
        { role: 'user', content: 'x'.repeat(300_000) },
        { role: 'assistant', content: 'y' },
      ],
    }
    expect(pass(body).body.messages).toBe(body.messages)
  })

  test('removes gateway fields', () => {
    const body = {
      models: ['a'],
      provider: { zdr: true },
      plugins: [],
      route: 'fallback',
      session_id: 's',
      trace: {},
      usage: { include: true },
      preset: 'p',
      transforms: [],
      stop_server_tools_when: [],
      store: false,
      tools: [],
      tool_choice: 'auto',
    }
    const { body: passed, dropped } = pass(body)
    expect(passed).toEqual({ model: 'large-2026-09', messages: [hello] })
    expect(dropped).toEqual([])
  })

  test('requests usage for a stream, and keeps the other stream options', () => {
    const { body } = pass(
      { stream: true, stream_options: { include_obfuscation: false } },
      createTarget({ stream: true }),
    )
    expect(body).toMatchObject({
      stream: true,
      stream_options: { include_obfuscation: false, include_usage: true },
    })
  })

  test('uses the fields the upstream supports, and reports what it drops', () => {
    const target = createTarget({
      capabilities: new Set(),
      unsupportedFields: new Set(['seed', 'tools']),
      tier: 'priority',
    })
    const body = {
      messages: [{ role: 'developer', content: 'x' }, hello],
      max_completion_tokens: 5,
      seed: 1,
      tools: [{ type: 'function', function: { name: 'f' } }],
      tool_choice: 'auto',
      reasoning: { effort: 'high', mode: 'pro' },
      service_tier: 'fast',
    }
    const { body: passed, dropped } = pass(body, target)
    expect(passed).toEqual({
      model: 'large-2026-09',
      messages: [{ role: 'system', content: 'x' }, hello],
      max_tokens: 5,
      reasoning_effort: 'high',
      service_tier: 'priority',
    })
    expect(dropped).toEqual(['reasoning.mode', 'seed', 'tools'])
  })

  test('converts plain image URLs and prompts to the standard form', () => {
    const content = [{ type: 'image_url', image_url: 'https://a.example/i.png' }]
    expect(pass({ messages: [{ role: 'user', content }] }).body.messages).toEqual([
      { role: 'user', content: [{ type: 'image_url', image_url: { url: 'https://a.example/i.png' } }] },
    ])
    expect(chat.passthrough.passRequest({ prompt: 'Hello' }, createTarget()).body.messages).toEqual([hello])
  })

  test('drops and reports the reasoning of other vendors (R29)', () => {
    const entry = { type: 'reasoning.text', text: 'Hm', signature: 'Er8B', format: 'vendor_a-v1', index: 0 }
    const body = {
      messages: [hello, { role: 'assistant', content: 'Yes', reasoning: 'Hm', reasoning_details: [entry] }],
    }
    const foreign = pass(body, createTarget({ reasoning: { efforts: null, budget: false } }))
    expect(foreign.body.messages).toEqual([hello, { role: 'assistant', content: 'Yes' }])
    expect(foreign.dropped).toEqual(['reasoning_signature'])
    const reasoningHistory = { field: 'reasoning_details' as const }
    const own = pass(body, createTarget({ signatureFormat: 'vendor_a-v1', reasoningHistory }))
    const accepted = { ...entry, format: 'anthropic-claude-v1' }
    expect(own.body.messages).toEqual([
      hello,
      { role: 'assistant', content: 'Yes', reasoning_details: [accepted] },
    ])
    expect(own.dropped).toEqual([])
  })

  test('returns unsigned reasoning in the field the upstream reads', () => {
    const entry = { type: 'reasoning.text', text: 'Hm', format: 'unknown', index: 0 }
    const message = { role: 'assistant', content: 'Yes', reasoning: 'Hm', reasoning_details: [entry] }
    const target = createTarget({ reasoning: { efforts: null, budget: false } })
    expect(pass({ messages: [message] }, target).body.messages).toEqual([
      { role: 'assistant', content: 'Yes', reasoning_content: 'Hm' },
    ])
    expect(pass({ messages: [message] })).toMatchObject({
      body: { messages: [{ role: 'assistant', content: 'Yes' }] },
      dropped: ['reasoning'],
    })
  })
})
