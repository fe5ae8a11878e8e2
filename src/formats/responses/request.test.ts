import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { createTarget } from '../../../test/formats/fixtures/responses.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { ModelCall } from '../call/call.ts'
import type { ReasoningPart } from '../call/part.ts'
import { packReasoning } from '../call/reasoning.ts'
import { responses } from './responses.ts'
import { responsesRequest } from './schema.ts'

const codex: JsonObject = JSON.parse(
  readFileSync(join(import.meta.dir, 'fixtures/codex-request.json'), 'utf8'),
)
const { decodeRequest } = responses.client
const { encodeRequest } = responses.upstream
const { passRequest } = responses.passthrough

const call = (changes: Partial<ModelCall>): ModelCall => ({
  messages: [],
  stream: false,
  unknown: [],
  ...changes,
})
const foreign: ReasoningPart = {
  kind: 'reasoning',
  text: 'Hm.',
  summary: [],
  signature: 'c2ln',
  format: 'vendor_a-v1',
}

describe('decoding a request', () => {
  test('a coding agent: developer role, namespaces, free-text tools, encrypted reasoning', () => {
    expect(responsesRequest.safeParse(codex).success).toBe(true)
    const read = decodeRequest(codex)
    expect(
      read.messages.map(({ role, parts }) => `${role} ${parts.map(({ kind }) => kind).join(' ')}`),
    ).toEqual([
      'system text',
      'developer text',
      'user text',
      'user text image',
      'assistant reasoning text tool-call tool-call',
      'user tool-result tool-result',
      'assistant opaque opaque',
    ])
    expect(read.messages[4]?.parts).toMatchObject([
      { encrypted: 'gAAAAABo_codex', summary: ['**Reading**'], format: 'vendor_b-responses-v1' },
      { text: 'Looking.' },
      { name: 'mcp__files__read_file', arguments: '{"path":"a.ts"}' },
      { name: 'apply_patch', arguments: '*** Begin Patch\n*** End Patch\n', custom: true },
    ])
    expect(read.messages[5]?.parts).toMatchObject([
      { id: 'call_1', content: [{ text: 'export const a = 1\n' }] },
      { id: 'call_2', content: [{ text: 'ok' }], custom: true },
    ])
    expect(read.tools).toMatchObject([
      { kind: 'function', name: 'shell_command', strict: false },
      { kind: 'custom', name: 'apply_patch', format: { type: 'grammar', syntax: 'lark' } },
      { kind: 'function', name: 'read_file', namespace: 'mcp__files', deferLoading: true },
      { kind: 'native', type: 'web_search' },
    ])
    expect(read).toMatchObject({
      stream: true,
      toolChoice: { kind: 'auto' },
      parallelToolCalls: true,
      reasoning: { effort: 'high', summary: 'auto' },
      verbosity: 'low',
      promptCacheKey: '0197-session',
      unknown: ['client_metadata', 'new_vendor_field', 'phase'],
    })
  })

  test('short forms: a string, messages without a type, null and empty values', () => {
    expect(decodeRequest({ input: 'Hi' }).messages).toEqual([
      { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] },
    ])
    const input = [
      { role: 'assistant', content: null },
      { role: 'user', content: 'Hi' },
    ]
    const body = { input, tools: [], include: [], reasoning: { effort: null }, text: { verbosity: null } }
    expect(decodeRequest(body)).toEqual({
      messages: [
        { role: 'assistant', parts: [] },
        { role: 'user', parts: [{ kind: 'text', text: 'Hi' }] },
      ],
      stream: false,
      unknown: [],
    })
  })

  test('files, audio and video', () => {
    const content = [
      { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' },
      { type: 'input_file', file_url: 'https://e.org/a.pdf' },
      { type: 'input_image', file_id: 'file_1', detail: 'auto' },
      { type: 'input_audio', input_audio: { data: 'aGk=', format: 'mp3' } },
      { type: 'input_video', video_url: 'https://e.org/v.mp4' },
    ]
    expect(decodeRequest({ input: [{ role: 'user', content }] }).messages[0]?.parts).toMatchObject([
      {
        kind: 'file',
        filename: 'a.pdf',
        source: { kind: 'data', mediaType: 'application/pdf', data: 'JVBERi0=' },
      },
      { kind: 'file', source: { kind: 'url', url: 'https://e.org/a.pdf' } },
      { kind: 'image', source: { kind: 'file', id: 'file_1' } },
      { kind: 'audio', data: 'aGk=', format: 'mp3' },
      { kind: 'video', source: { kind: 'url', url: 'https://e.org/v.mp4' } },
    ])
  })

  test('tool choices', () => {
    const choice = (tool_choice: unknown) => decodeRequest({ input: '', tool_choice }).toolChoice
    expect(choice('required')).toEqual({ kind: 'required' })
    expect(choice({ type: 'function', name: 'f' })).toEqual({ kind: 'tool', name: 'f' })
    expect(choice({ type: 'custom', name: 'c' })).toEqual({ kind: 'tool', name: 'c' })
    const tools = [
      { type: 'function', name: 'f' },
      { type: 'custom', name: 'c' },
    ]
    expect(choice({ type: 'allowed_tools', mode: 'required', tools })).toEqual({
      kind: 'allowed',
      required: true,
      names: ['f', 'c'],
    })
    expect(choice({ type: 'allowed_tools', mode: 'auto', tools: [{ type: 'mcp' }] })?.kind).toBe('native')
    expect(choice({ type: 'web_search_preview' })?.kind).toBe('native')
  })

  test('logprobs are requested by count or by `include`', () => {
    expect(decodeRequest({ input: '', top_logprobs: 3 })).toMatchObject({ logprobs: true, topLogprobs: 3 })
    expect(decodeRequest({ input: '', include: ['message.output_text.logprobs'] }).logprobs).toBe(true)
    expect(decodeRequest({ input: '' }).logprobs).toBeUndefined()
  })

  test('errors name the field', () => {
    const wrong = (item: unknown) => () => decodeRequest({ input: [item] })
    expect(wrong({ role: 'tool', content: '' })).toThrow('input.0.role')
    expect(wrong({ role: 'user', content: [{ type: 'input_text' }] })).toThrow('input.0.content.0.text')
    expect(wrong({ type: 'function_call', name: 'f' })).toThrow('input.0.call_id')
    expect(wrong({ role: 'user', content: [{ type: 'input_image' }] })).toThrow('input.0.content.0.image_url')
  })
})

describe('encoding a request', () => {
  test('R32 a decoded request encodes to the same request, with schemas unmodified', () => {
    const read = decodeRequest(codex)
    const { body, dropped } = encodeRequest(read, createTarget())
    expect(dropped).toEqual(['client_metadata', 'new_vendor_field', 'phase'])
    expect(body).toMatchObject({ model: 'upstream-model', store: false, stream: true })
    expect(body.include).toEqual(['reasoning.encrypted_content'])
    expect(body.instructions).toBe('You are a coding agent running in a terminal.')
    const again = decodeRequest(body)
    // A declared tool is sent under its flat name, and so is a call of it.
    const flat = JSON.parse(JSON.stringify(read.messages).replaceAll(',"namespace":"mcp__files"', ''))
    expect(again.messages).toEqual(flat)
    // Namespaces are flattened into the names.
    expect(again.tools?.[2]).toMatchObject({ name: 'mcp__files__read_file', deferLoading: true })
    const { tools } = codex as { tools: { parameters: unknown }[] }
    expect(isDeepStrictEqual((body.tools as JsonObject[])[0]?.parameters, tools[0]?.parameters)).toBe(true)
  })

  test('R31 fields the format does not have are reported', () => {
    const request = call({
      messages: [{ role: 'user', name: 'Ann', parts: [{ kind: 'text', text: 'Hi', cache: {} }] }],
      topK: 1,
      seed: 2,
      stop: ['x'],
      n: 2,
      logitBias: { 1: 1 },
      frequencyPenalty: 1,
      format: { kind: 'grammar', grammar: 'g' },
      tools: [{ kind: 'native', wireFormat: 'messages', type: 'bash_20250124', value: {} }],
      unknown: ['other'],
    })
    expect(encodeRequest(request, createTarget()).dropped).toEqual(
      [
        'cache_control',
        'frequency_penalty',
        'logit_bias',
        'message_name',
        'n',
        'other',
        'response_format',
        'seed',
        'stop',
        'tool:bash_20250124',
        'top_k',
      ].sort(),
    )
  })

  test('R29 only reasoning of the upstream itself is returned to it', () => {
    const own: ReasoningPart = {
      ...foreign,
      text: '',
      encrypted: 'e',
      id: 'rs_1',
      format: 'vendor_b-responses-v1',
    }
    delete own.signature
    const request = call({ messages: [{ role: 'assistant', parts: [foreign, own] }] })
    const { body, dropped } = encodeRequest(request, createTarget())
    expect(body.input).toEqual([{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }])
    expect(dropped).toEqual(['reasoning_signature'])
  })

  test('reasoning effort and summary', () => {
    const reasoning = (options: ModelCall['reasoning'], changes = {}) =>
      encodeRequest(call(options ? { reasoning: options } : {}), createTarget(changes)).body.reasoning
    expect(
      reasoning({ effort: 'xhigh' }, { reasoning: { efforts: ['high', 'low'], budget: false } }),
    ).toEqual({
      effort: 'high',
      summary: 'auto',
    })
    expect(reasoning({ maxTokens: 2000 })).toEqual({ effort: 'low', summary: 'auto' })
    expect(reasoning({ enabled: true, exclude: true })).toEqual({ effort: 'medium' })
    expect(reasoning({ effort: 'none' })).toEqual({ effort: 'none' })
    expect(reasoning(undefined)).toBeUndefined()
    const plain = encodeRequest(call({ reasoning: { effort: 'low' } }), createTarget({ reasoning: null }))
    expect(plain).toMatchObject({ dropped: ['reasoning'] })
    expect(plain.body).not.toHaveProperty('include')
  })

  test('structured output, tool choice and results', () => {
    const schema = { type: 'object', properties: { a: { enum: ['x', 'y'] } }, required: ['a'] }
    const { body } = encodeRequest(
      call({
        messages: [
          { role: 'assistant', parts: [{ kind: 'tool-call', id: 'c', name: 'f', arguments: 'not json' }] },
          {
            role: 'user',
            parts: [
              {
                kind: 'tool-result',
                id: 'c',
                content: [
                  { kind: 'text', text: 'see' },
                  { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'aGk=' } },
                ],
              },
            ],
          },
        ],
        format: { kind: 'schema', name: 'n', schema, strict: true },
        tools: [{ kind: 'custom', name: 'c' }],
        toolChoice: { kind: 'allowed', required: false, names: ['f', 'c'] },
        maxTokens: 1,
        serviceTier: 'fast',
      }),
      createTarget({ tier: 'priority' }),
    )
    expect(body).toMatchObject({
      text: { format: { type: 'json_schema', name: 'n', schema, strict: true } },
      tool_choice: {
        type: 'allowed_tools',
        mode: 'auto',
        tools: [
          { type: 'function', name: 'f' },
          { type: 'custom', name: 'c' },
        ],
      },
      max_output_tokens: 16,
      service_tier: 'priority',
      input: [
        { type: 'function_call', call_id: 'c', arguments: 'not json' },
        {
          type: 'function_call_output',
          output: [
            { type: 'input_text', text: 'see' },
            { type: 'input_image', image_url: 'data:image/png;base64,aGk=' },
          ],
        },
      ],
    })
  })

  test('fields the upstream rejects are dropped and reported', () => {
    const request = call({ temperature: 1, topP: 0.5 })
    const { body, dropped } = encodeRequest(
      request,
      createTarget({ unsupportedFields: new Set(['temperature']) }),
    )
    expect(body).not.toHaveProperty('temperature')
    expect(body.top_p).toBe(0.5)
    expect(dropped).toEqual(['temperature'])
  })
})

describe('passing a request', () => {
  test('R31 unknown fields pass unmodified', () => {
    const { body, dropped, path } = passRequest(codex, createTarget())
    expect(path).toBe('/responses')
    expect(dropped).toEqual([])
    expect(body).toEqual({ ...codex, model: 'upstream-model' })
  })

  test('gateway fields are removed, nothing is stored upstream, encrypted reasoning is included', () => {
    const request = {
      input: 'Hi',
      model: 'a/b',
      provider: { order: ['x'] },
      plugins: [],
      previous_response_id: 'resp_1',
      background: true,
      store: true,
      top_k: 5,
      stream_options: { include_usage: true },
      reasoning: { max_tokens: 2000, context: 'auto' },
      tools: [{ type: 'web_search' }],
    }
    const { body, dropped } = passRequest(request, createTarget())
    expect(body).toEqual({
      input: 'Hi',
      model: 'upstream-model',
      store: false,
      stream: true,
      reasoning: { effort: 'low', context: 'auto' },
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'web_search' }],
    })
    expect(dropped).toEqual(['top_k'])
    expect(request.store).toBe(true)
  })

  test('R29 reasoning of other vendors is dropped, and packed reasoning is unpacked', () => {
    const item = (part: ReasoningPart) => ({
      type: 'reasoning',
      id: 'rs_ours',
      summary: [],
      encrypted_content: packReasoning(part),
      format: part.format,
    })
    const grok: ReasoningPart = {
      ...foreign,
      id: 'rs_x',
      encrypted: 'encrypted',
      format: 'vendor_d-responses-v1',
    }
    const input = [item(foreign), item(grok), { role: 'user', content: 'Hi' }]
    const passed = passRequest({ input }, createTarget({ signatureFormat: 'vendor_d-responses-v1' }))
    expect(passed.body.input).toEqual([
      { type: 'reasoning', id: 'rs_x', summary: [], encrypted_content: 'encrypted' },
      { role: 'user', content: 'Hi' },
    ])
    expect(passed.dropped).toEqual(['reasoning_signature'])
  })

  test('fields the upstream rejects are dropped by their name in this format', () => {
    const unsupportedFields = new Set(['max_tokens', 'verbosity', 'temperature'])
    const request = { input: 'Hi', max_output_tokens: 5, text: { verbosity: 'low' }, temperature: null }
    const { body, dropped } = passRequest(
      request,
      createTarget({ unsupportedFields, reasoning: null, stream: false }),
    )
    expect(body).toEqual({ input: 'Hi', model: 'upstream-model', store: false })
    expect(dropped).toEqual(['max_tokens', 'verbosity'])
  })
})
