import { describe, expect, test } from 'bun:test'
import { createTarget, readJsonFixture } from '../../../test/formats/fixtures/messages.ts'
import type { Message, ModelCall } from '../call/call.ts'
import type { InputPart, OutputPart, ReasoningPart } from '../call/part.ts'
import type { Target } from '../wire-format.ts'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest } from './request-encode.ts'

const user = (...parts: InputPart[]): Message => ({ role: 'user', parts })
const assistant = (...parts: OutputPart[]): Message => ({ role: 'assistant', parts })
const text = (content: string) => ({ kind: 'text' as const, text: content })

function encode(call: Partial<ModelCall>, target: Partial<Target> = {}) {
  const whole = { messages: [user(text('hello'))], stream: false, unknown: [], ...call }
  return encodeRequest(whole, createTarget(target))
}

const turns = (...messages: Message[]) => encode({ messages }).body.messages

describe('the conversation', () => {
  test('leading system messages become the system prompt, later ones user turns', () => {
    const { body } = encode({
      messages: [
        { role: 'system', parts: [text('be kind')] },
        { role: 'developer', parts: [text('be brief')] },
        user(text('hi')),
        { role: 'system', parts: [text('be quick')] },
      ],
    })
    expect(body.system).toEqual([
      { type: 'text', text: 'be kind' },
      { type: 'text', text: 'be brief' },
    ])
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'text', text: '<system>\nbe quick\n</system>' },
        ],
      },
    ])
  })

  test('a system prompt alone becomes a turn', () => {
    const { body } = encode({ messages: [{ role: 'system', parts: [text('only this')] }] })
    expect(body.messages).toHaveLength(1)
    expect(JSON.stringify(body.messages)).toContain('only this')
  })

  test('turns alternate, tool results come first, and empty text is omitted', () => {
    const call = { kind: 'tool-call' as const, id: 'functions.f:0', name: 'f', arguments: '' }
    const result = { kind: 'tool-result' as const, id: 'functions.f:0', content: [text('42')] }
    const sent = turns(user(text('a')), assistant(text(''), call), user(text('b')), user(result))
    expect(sent).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'tool_use', name: 'f', input: {} }] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', content: '42' },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    const ids = JSON.stringify(sent).match(/functions_f_0_[0-9a-f]{8}/g)
    expect(new Set(ids).size).toBe(1)
    expect(ids).toHaveLength(2)
  })

  test('a prefill does not end in white space, and no turn is empty', () => {
    expect(turns(user(text('a')), assistant(text('Once \n')))).toMatchObject([
      {},
      { content: [{ text: 'Once' }] },
    ])
    expect(turns(user(text('a')), assistant(text(' ')))).toHaveLength(1)
    expect(turns(user(text('a')), assistant(text('')), user(text('b')))).toHaveLength(1)
  })

  test.each([
    ['{"a":1}', undefined, { a: 1 }],
    ['', undefined, {}],
    ['[1]', undefined, { _raw: '[1]' }],
    ['{"a":', undefined, { _raw: '{"a":' }],
    ['*** Begin Patch', true, { input: '*** Begin Patch' }],
  ])('arguments %j are sent as an object', (argumentsText, custom, input) => {
    const call = {
      kind: 'tool-call' as const,
      id: 't',
      name: 'f',
      arguments: argumentsText,
      ...(custom && { custom }),
    }
    expect(turns(user(text('a')), assistant(call))).toMatchObject([{}, { content: [{ input }] }])
  })

  test('files are sent by media type, and unsupported ones are reported', () => {
    const data = (mediaType: string, content: string): InputPart => ({
      kind: 'file',
      source: { kind: 'data', mediaType, data: btoa(content) },
      filename: 'f',
    })
    const { body, dropped } = encode({
      messages: [
        user(
          data('application/pdf', 'pdf'),
          data('text/csv', 'a,b'),
          data('application/zip', 'zip'),
          { kind: 'audio', data: 'x', format: 'wav' },
          { kind: 'video', source: { kind: 'url', url: 'https://v.example' } },
          { kind: 'image', source: { kind: 'url', url: 'data:image/png;base64,iVBO' } },
        ),
      ],
    })
    expect(body.messages).toMatchObject([
      {
        content: [
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf' }, title: 'f' },
          { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'a,b' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBO' } },
        ],
      },
    ])
    expect(dropped).toEqual(['audio', 'file', 'video'])
  })
})

describe('thinking', () => {
  test.each([
    [{ effort: 'high' as const }, 10_000, { type: 'enabled', budget_tokens: 8000 }],
    [{ enabled: true }, 10_000, { type: 'enabled', budget_tokens: 5000 }],
    [{ adaptive: true }, 10_000, { type: 'enabled', budget_tokens: 5000 }],
    [{ maxTokens: 500 }, 10_000, { type: 'enabled', budget_tokens: 1024 }],
    [{ maxTokens: 20_000 }, 10_000, { type: 'enabled', budget_tokens: 9500 }],
    [{ effort: 'none' as const }, 10_000, { type: 'disabled' }],
  ])('%j of %d tokens', (reasoning, maxTokens, thinking) => {
    const { body, dropped } = encode({ reasoning, maxTokens })
    expect(body).toMatchObject({ thinking, max_tokens: maxTokens })
    expect(dropped).toEqual([])
  })

  test('is dropped and reported if max_tokens is too small', () => {
    const { body, dropped } = encode({ reasoning: { effort: 'low' }, maxTokens: 1000 })
    expect(body.thinking).toBeUndefined()
    expect(body.max_tokens).toBe(1000)
    expect(dropped).toEqual(['reasoning'])
  })

  test('is adaptive, with the nearest effort, if the model accepts no budget', () => {
    const target = { reasoning: { efforts: ['high', 'medium', 'low'], budget: false } }
    expect(encode({ reasoning: { effort: 'max' } }, target).body).toMatchObject({
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'high' },
    })
    expect(encode({ reasoning: { effort: 'minimal' } }, target).body).toMatchObject({
      output_config: { effort: 'low' },
    })
    const hidden = encode({ reasoning: { adaptive: true, exclude: true } }, target).body
    expect(hidden).toMatchObject({ thinking: { type: 'adaptive', display: 'omitted' } })
    expect(hidden.output_config).toBeUndefined()
  })

  test('drops and reports settings that the vendor rejects with it', () => {
    const { body, dropped } = encode({
      reasoning: { effort: 'low' },
      maxTokens: 10_000,
      temperature: 0.2,
      topK: 5,
      topP: 0.5,
      tools: [{ kind: 'function', name: 'f' }],
      toolChoice: { kind: 'required' },
      parallelToolCalls: false,
    })
    expect(body.tool_choice).toEqual({ type: 'auto', disable_parallel_tool_use: true })
    expect(dropped).toEqual(['temperature', 'tool_choice', 'top_k', 'top_p'])
  })

  test('with a budget is not requested after tool calls of another model', () => {
    const call = { kind: 'tool-call' as const, id: 't', name: 'f', arguments: '{}' }
    const result = { kind: 'tool-result' as const, id: 't', content: [text('1')] }
    const { body, dropped } = encode({
      messages: [user(text('a')), assistant(call), user(result)],
      reasoning: { effort: 'low' },
      maxTokens: 10_000,
    })
    expect(body.thinking).toBeUndefined()
    expect(dropped).toEqual(['reasoning'])
  })

  test('R29: is sent back to its vendor only', () => {
    const part = (fields: Partial<ReasoningPart>): ReasoningPart => ({
      kind: 'reasoning',
      text: '',
      summary: [],
      format: 'vendor_a-v1',
      ...fields,
    })
    const { body, dropped } = encode({
      messages: [
        user(text('a')),
        assistant(
          part({ text: 'hm', signature: 'sig' }),
          part({ encrypted: 'data' }),
          part({ text: 'x', signature: 's', format: 'vendor_c-v1' }),
          part({ text: 'loud', format: 'unknown' }),
          text('b'),
        ),
        user(text('c')),
      ],
    })
    expect(body.messages).toMatchObject([
      {},
      {
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'sig' },
          { type: 'redacted_thinking', data: 'data' },
          { type: 'text', text: 'b' },
        ],
      },
      {},
    ])
    expect(dropped).toEqual(['reasoning', 'reasoning_signature'])
  })
})

describe('tools', () => {
  test('R32: every kind is sent, with unmodified schemas', () => {
    const schema = { type: 'object', properties: { a: { enum: ['x'] } }, required: ['a'], $defs: {} }
    const { body, dropped } = encode({
      tools: [
        { kind: 'function', name: 'f', namespace: 'ns', schema, strict: true, deferLoading: true, cache: {} },
        {
          kind: 'custom',
          name: 'patch',
          description: 'd',
          format: { type: 'grammar', definition: 'start: x' },
        },
        {
          kind: 'native',
          wireFormat: 'messages',
          type: 'bash_20250124',
          value: { type: 'bash_20250124', name: 'bash' },
        },
        { kind: 'native', wireFormat: 'responses', type: 'file_search', value: {} },
      ],
    })
    const tools = body.tools as { input_schema: unknown }[]
    expect(tools[0]).toEqual({
      name: 'ns__f',
      input_schema: schema,
      strict: true,
      defer_loading: true,
      cache_control: { type: 'ephemeral' },
    } as never)
    expect(tools[0]?.input_schema).toBe(schema)
    expect(tools[1]).toMatchObject({ name: 'patch', input_schema: { required: ['input'] } })
    expect(JSON.stringify(tools[1])).toContain('start: x')
    expect(tools[2]).toEqual({ type: 'bash_20250124', name: 'bash' } as never)
    expect(tools).toHaveLength(3)
    expect(dropped).toEqual(['tool:file_search'])
  })

  test('a choice of allowed tools sends only those', () => {
    const { body } = encode({
      tools: [
        { kind: 'function', name: 'a' },
        { kind: 'function', name: 'b' },
      ],
      toolChoice: { kind: 'allowed', required: true, names: ['b'] },
    })
    expect(body).toMatchObject({ tools: [{ name: 'b' }], tool_choice: { type: 'any' } })
  })
})

describe('other fields', () => {
  test('max_tokens is always sent', () => {
    expect(encode({}).body.max_tokens).toBe(4096)
    expect(encode({}, { maxOutputTokens: 64_000 }).body.max_tokens).toBe(64_000)
  })

  test('sampling is limited to what the vendor accepts', () => {
    expect(encode({ temperature: 1.7 }).body.temperature).toBe(1)
    expect(encode({ temperature: 1.7 }).dropped).toEqual(['temperature'])
    expect(encode({ temperature: 1 }).dropped).toEqual([])
    const both = encode({ temperature: 0.5, topP: 0.9 })
    expect(both.body.top_p).toBeUndefined()
    expect(both.dropped).toEqual(['top_p'])
    expect(encode({ temperature: 1, topP: 0.9 }).body).toMatchObject({ top_p: 0.9 })
    expect(encode({ temperature: 0.5, topP: 1 }).dropped).toEqual([])
  })

  test('the user id is sent as a hash', () => {
    const { metadata } = encode({ user: 'ada@example.org' }).body as { metadata: { user_id: string } }
    expect(metadata.user_id).toMatch(/^[0-9a-f]{32}$/)
  })

  test('the last four cache breakpoints are sent', () => {
    const cachedPart = (content: string): InputPart => ({ kind: 'text', text: content, cache: {} })
    const { body, dropped } = encode({
      messages: [
        { role: 'system', parts: [cachedPart('s')] },
        user(cachedPart('1'), cachedPart('2')),
        user(cachedPart('3'), cachedPart('4')),
      ],
      cache: { ttl: '1h' },
    })
    expect(body.cache_control).toEqual({ type: 'ephemeral', ttl: '1h' })
    expect(JSON.stringify(body).match(/cache_control/g)).toHaveLength(4)
    expect(JSON.stringify(body.system)).not.toContain('cache_control')
    expect(dropped).toEqual(['cache_control'])
  })

  test('R31: fields that the format cannot express are reported', () => {
    const { dropped } = encode({
      n: 2,
      seed: 1,
      format: { kind: 'json' },
      logprobs: true,
      serviceTier: 'flex',
      stop: ['x', ' '],
      unknown: ['made_up'],
    })
    expect(dropped).toEqual(['logprobs', 'made_up', 'n', 'response_format', 'seed', 'service_tier', 'stop'])
    expect(encode({ temperature: 1 }, { unsupportedFields: new Set(['temperature']) }).dropped).toEqual([
      'temperature',
    ])
  })

  test('a request of this format survives a round trip', () => {
    const body = readJsonFixture('coding-agent.json')
    const sent = encodeRequest(
      decodeRequest(body),
      createTarget({ reasoning: { efforts: null, budget: false } }),
    ).body
    expect(sent).toMatchObject({ thinking: { type: 'adaptive' }, output_config: { effort: 'high' } })
    expect(sent.system).toEqual(body.system)
    expect(decodeRequest(sent).tools).toEqual(decodeRequest(body).tools)
    expect((sent.messages as Message[]).map(({ role }) => role)).toEqual([
      'user',
      'system',
      'assistant',
      'user',
    ])
  })
})
