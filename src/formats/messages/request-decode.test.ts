import { describe, expect, test } from 'bun:test'
import { readJsonFixture } from '../../../test/formats/fixtures/messages.ts'
import type { ReasoningPart } from '../call/part.ts'
import { packReasoning } from '../call/reasoning.ts'
import { messages } from './messages.ts'
import { decodeRequest } from './request-decode.ts'
import { messagesRequest } from './schema.ts'

const hello = [{ role: 'user', content: 'hello' }]
const decode = (fields: object) => decodeRequest({ model: 'm', messages: hello, ...fields })
const decodeBlock = (block: object, role = 'user') =>
  decode({ messages: [{ role, content: [block] }] }).messages[0]?.parts[0]

describe('a coding agent', () => {
  const body = readJsonFixture('coding-agent.json')

  test('sends large requests with new fields, which are accepted', () => {
    const tools = Array.from({ length: 80 }, (_, index) => ({
      name: `Tool${index}`,
      description: 'x'.repeat(1000),
      input_schema: { type: 'object', properties: {}, required: null },
    }))
    const large = {
      ...body,
      tools: [...(body.tools as object[]), ...tools],
      context_management: { edits: [{ type: 'compact_20300101' }] },
      thinking: { type: 'someday' },
      output_config: { effort: 'heroic', task_budget: { type: 'tokens', total: 20_000 } },
      safeguards: [{ type: 'any' }],
    }
    expect(JSON.stringify(large).length).toBeGreaterThan(80_000)
    const checked = messagesRequest.parse(large)
    expect(checked).toMatchObject({ safeguards: [{ type: 'any' }] })
    expect(messages.client.decodeRequest(checked).tools).toHaveLength(84)
  })

  test('receives the path of a field with the wrong type', () => {
    const wrong = {
      temperature: 'hot',
      tools: [{ name: 'f' }],
      thinking: { type: 'enabled', budget_tokens: 'x' },
    }
    const { error } = messagesRequest.safeParse({ ...body, ...wrong })
    expect(error?.issues.map(({ path }) => path.join('.')).sort()).toEqual([
      'temperature',
      'thinking.budget_tokens',
      'tools.0.input_schema',
    ])
    const nothing = { temperature: null, system: null, tools: null, thinking: null, max_tokens: null }
    expect(messagesRequest.safeParse({ ...body, ...nothing }).success).toBe(true)
  })

  test('sends roles, thinking, tools and cache breakpoints, which are decoded', () => {
    const call = decodeRequest(body)
    expect(call.messages.map(({ role }) => role)).toEqual([
      'system',
      'user',
      'system',
      'assistant',
      'user',
      'system',
    ])
    expect(call.reasoning).toEqual({ adaptive: true, effort: 'high' })
    expect(call.messages[0]?.parts[1]).toMatchObject({ cache: { ttl: '1h' } })
    expect(call.messages[2]?.parts[1]).toMatchObject({ kind: 'opaque', value: { type: 'tool_addition' } })
    expect(call.messages[3]?.parts).toEqual([
      {
        kind: 'reasoning',
        text: 'Read it first.',
        summary: [],
        signature: 'ErUBCkYIsigned',
        format: 'vendor_a-v1',
      },
      {
        kind: 'tool-call',
        id: 'toolu_01ReadReadRead',
        name: 'Read',
        arguments: '{"file_path":"sum.test.ts"}',
      },
    ])
    expect(call.messages[4]?.parts[0]).toMatchObject({ kind: 'tool-result', cache: {} })
    expect(call.tools?.[1]).toMatchObject({ deferLoading: true, strict: true })
    expect(call.tools?.[2]).toMatchObject({ kind: 'native', type: 'web_search_20260209' })
    expect(call.maxTokens).toBe(32_000)
  })

  test('R31: fields that only this format has are reported', () => {
    expect(decodeRequest(body).unknown.sort()).toEqual([
      'context_management',
      'diagnostics',
      'messages.clear_at',
      'tools.eager_input_streaming',
    ])
  })

  test('R32: schemas are passed by reference', () => {
    const [first] = decodeRequest(body).tools ?? []
    const [clientTool] = body.tools as { input_schema: object }[]
    expect(first?.kind === 'function' && first.schema === clientTool?.input_schema).toBe(true)
  })
})

describe('fields', () => {
  test('thinking and effort', () => {
    expect(decode({ thinking: { type: 'enabled', budget_tokens: 2000 } }).reasoning).toEqual({
      enabled: true,
      maxTokens: 2000,
    })
    expect(decode({ thinking: { type: 'adaptive', display: 'omitted' } }).reasoning).toEqual({
      adaptive: true,
      exclude: true,
    })
    const off = decode({ thinking: { type: 'disabled' }, output_config: { effort: 'low' } })
    expect(off.reasoning).toEqual({ enabled: false })
    expect(off.unknown).toEqual(['output_config.effort'])
    expect(decode({ output_config: { effort: 'max' } }).reasoning).toEqual({ effort: 'max' })
  })

  test('tool choice, with and without parallel calls', () => {
    expect(decode({ tool_choice: { type: 'any', disable_parallel_tool_use: true } })).toMatchObject({
      toolChoice: { kind: 'required' },
      parallelToolCalls: false,
    })
    expect(decode({ tool_choice: { type: 'tool', name: 'look' } }).toolChoice).toEqual({
      kind: 'tool',
      name: 'look',
    })
    expect(decode({ tool_choice: { type: 'none' } }).parallelToolCalls).toBeUndefined()
  })

  test('format, stop, user, tier and cache', () => {
    const schema = { type: 'object', properties: { a: { enum: [1] } } }
    const call = decode({
      output_config: { format: { type: 'json_schema', schema } },
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      speed: 'fast',
      cache_control: { type: 'ephemeral', ttl: '1h' },
    })
    expect(call).toMatchObject({
      format: { kind: 'schema', schema },
      stop: ['END'],
      user: 'u-1',
      serviceTier: 'priority',
      cache: { ttl: '1h' },
    })
  })

  test('absent fields stay absent', () => {
    expect(decode({})).toEqual({
      messages: [{ role: 'user', parts: [{ kind: 'text', text: 'hello' }] }],
      stream: false,
      unknown: [],
    })
  })
})

describe('blocks', () => {
  test('images and documents from every source', () => {
    const source = { type: 'base64', media_type: 'image/png', data: 'iVBO' }
    expect(decodeBlock({ type: 'image', source })).toEqual({
      kind: 'image',
      source: { kind: 'data', mediaType: 'image/png', data: 'iVBO' },
    })
    expect(decodeBlock({ type: 'image', source: { type: 'file', file_id: 'file_1' } })).toMatchObject({
      source: { kind: 'file', id: 'file_1' },
    })
    const block = {
      type: 'document',
      source: { type: 'url', url: 'https://a.example/b.pdf' },
      title: 'b.pdf',
      context: 'a law',
      citations: { enabled: true },
      cache_control: { type: 'ephemeral' },
    }
    expect(decodeBlock(block)).toEqual({
      kind: 'file',
      source: { kind: 'url', url: 'https://a.example/b.pdf' },
      filename: 'b.pdf',
      context: 'a law',
      citationsEnabled: true,
      cache: {},
    })
    const content = [
      { type: 'text', text: 'one' },
      { type: 'text', text: 'two' },
    ]
    expect(decodeBlock({ type: 'document', source: { type: 'content', content } })).toMatchObject({
      source: { kind: 'text', text: 'one\ntwo' },
    })
  })

  test('tool results have text, images and errors', () => {
    const block = {
      type: 'tool_result',
      tool_use_id: 'toolu_1',
      is_error: true,
      content: [
        { type: 'text', text: ' raw\n' },
        { type: 'tool_reference', tool_name: 'Build' },
        {
          type: 'search_result',
          title: 'T',
          source: 'https://s.example',
          content: [{ type: 'text', text: 'found' }],
        },
      ],
    }
    expect(decodeBlock(block)).toEqual({
      kind: 'tool-result',
      id: 'toolu_1',
      isError: true,
      content: [
        { kind: 'text', text: ' raw\n' },
        { kind: 'opaque', wireFormat: 'messages', value: { type: 'tool_reference', tool_name: 'Build' } },
        { kind: 'text', text: 'T\nhttps://s.example\n\nfound' },
      ],
    })
  })

  test('R29: reasoning of other vendors is unpacked from its signature', () => {
    const part: ReasoningPart = {
      kind: 'reasoning',
      id: 'rs_1',
      text: '',
      summary: ['a', 'b'],
      encrypted: 'gAAA',
      format: 'vendor_b-responses-v1',
    }
    const block = { type: 'thinking', thinking: 'a\n\nb', signature: packReasoning(part) }
    expect(decodeBlock(block, 'assistant')).toEqual(part)
  })

  test('blocks that only this format has are preserved', () => {
    const value = { type: 'web_search_tool_result', tool_use_id: 's', content: [{ any: 1 }] }
    expect(decodeBlock(value, 'assistant')).toEqual({ kind: 'opaque', wireFormat: 'messages', value })
  })

  test.each([
    [{ type: 'text', text: 5 }, 'messages.0.content.0.text: must be a string'],
    [{ type: 'image', source: 'x' }, 'messages.0.content.0.source: must be an object'],
    [{ type: 'tool_use', id: 't' }, 'messages.0.content.0.name: must be a string'],
    [
      { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text' }] },
      'messages.0.content.0.content.0.text: must be a string',
    ],
  ])('%j is a 400 that names the field', (block, message) => {
    expect(() => decodeBlock(block)).toThrow(message)
  })

  test('an unknown role is a 400 that names the field', () => {
    expect(() => decode({ messages: [{ role: 'robot', content: 'x' }] })).toThrow('messages.0.role')
  })
})
