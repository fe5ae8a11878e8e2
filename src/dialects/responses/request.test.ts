import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { ModelCall } from '../../call/call.ts'
import type { ReasoningPart } from '../../call/part.ts'
import { packReasoning } from '../../call/reasoning.ts'
import type { JsonObject } from '../../lib/json-values.ts'
import { target } from './fixtures/harness.ts'
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

describe('reading a request', () => {
  test('a coding agent: developer role, groups of tools, free-text tools, sealed thinking', () => {
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

  test('short forms: a string, messages without a type, null and empty things', () => {
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

  test('files, sound and film', () => {
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

  test('what tools are allowed', () => {
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

  test('logprobs are asked for by number or by name', () => {
    expect(decodeRequest({ input: '', top_logprobs: 3 })).toMatchObject({ logprobs: true, topLogprobs: 3 })
    expect(decodeRequest({ input: '', include: ['message.output_text.logprobs'] }).logprobs).toBe(true)
    expect(decodeRequest({ input: '' }).logprobs).toBeUndefined()
  })

  test('what is wrong is named', () => {
    const wrong = (item: unknown) => () => decodeRequest({ input: [item] })
    expect(wrong({ role: 'tool', content: '' })).toThrow('input.0.role')
    expect(wrong({ role: 'user', content: [{ type: 'input_text' }] })).toThrow('input.0.content.0.text')
    expect(wrong({ type: 'function_call', name: 'f' })).toThrow('input.0.call_id')
    expect(wrong({ role: 'user', content: [{ type: 'input_image' }] })).toThrow('input.0.content.0.image_url')
  })
})

describe('writing a request', () => {
  test('R32 what was read is written so that it reads the same, schemas untouched', () => {
    const read = decodeRequest(codex)
    const { body, dropped } = encodeRequest(read, target())
    expect(dropped).toEqual(['client_metadata', 'new_vendor_field', 'phase'])
    expect(body).toMatchObject({ model: 'upstream-model', store: false, stream: true })
    expect(body.include).toEqual(['reasoning.encrypted_content'])
    expect(body.instructions).toBe('You are a coding agent running in a terminal.')
    const again = decodeRequest(body)
    expect(again.messages).toEqual(read.messages)
    // Groups are flattened: names stay, by their flat form.
    expect(again.tools?.[2]).toMatchObject({ name: 'mcp__files__read_file', deferLoading: true })
    const { tools } = codex as { tools: { parameters: unknown }[] }
    expect(isDeepStrictEqual((body.tools as JsonObject[])[0]?.parameters, tools[0]?.parameters)).toBe(true)
  })

  test('R31 what the format has no word for is named', () => {
    const given = call({
      messages: [{ role: 'user', name: 'Ann', parts: [{ kind: 'text', text: 'Hi', cache: {} }] }],
      topK: 1,
      seed: 2,
      stop: ['x'],
      n: 2,
      logitBias: { 1: 1 },
      frequencyPenalty: 1,
      format: { kind: 'grammar', grammar: 'g' },
      tools: [{ kind: 'native', dialect: 'messages', type: 'bash_20250124', value: {} }],
      unknown: ['other'],
    })
    expect(encodeRequest(given, target()).dropped).toEqual(
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

  test('R29 only thinking of the upstream itself goes back to it', () => {
    const own: ReasoningPart = {
      ...foreign,
      text: '',
      encrypted: 'e',
      id: 'rs_1',
      format: 'vendor_b-responses-v1',
    }
    delete own.signature
    const given = call({ messages: [{ role: 'assistant', parts: [foreign, own] }] })
    const { body, dropped } = encodeRequest(given, target())
    expect(body.input).toEqual([{ type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'e' }])
    expect(dropped).toEqual(['reasoning_signature'])
  })

  test('how much to think, and whether to show it', () => {
    const reasoning = (wish: ModelCall['reasoning'], changes = {}) =>
      encodeRequest(call(wish ? { reasoning: wish } : {}), target(changes)).body.reasoning
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
    const plain = encodeRequest(call({ reasoning: { effort: 'low' } }), target({ reasoning: null }))
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
      target({ tier: 'priority' }),
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

  test('what the upstream would refuse is left out and named', () => {
    const given = call({ temperature: 1, topP: 0.5 })
    const { body, dropped } = encodeRequest(given, target({ unsupportedFields: new Set(['temperature']) }))
    expect(body).not.toHaveProperty('temperature')
    expect(body.top_p).toBe(0.5)
    expect(dropped).toEqual(['temperature'])
  })
})

describe('passing a request on', () => {
  test('R31 everything the vendor may know stays as it is', () => {
    const { body, dropped, path } = passRequest(codex, target())
    expect(path).toBe('/responses')
    expect(dropped).toEqual([])
    expect(body).toEqual({ ...codex, model: 'upstream-model' })
  })

  test('our own fields go, nothing is stored upstream, thinking comes back sealed', () => {
    const given = {
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
      tools: [{ type: 'service:datetime' }, { type: 'web_search' }],
    }
    const { body, dropped } = passRequest(given, target())
    expect(body).toEqual({
      input: 'Hi',
      model: 'upstream-model',
      store: false,
      stream: true,
      reasoning: { effort: 'low', context: 'auto' },
      include: ['reasoning.encrypted_content'],
      tools: [{ type: 'web_search' }],
    })
    expect(dropped).toEqual(['tool:service:datetime', 'top_k'])
    expect(given.store).toBe(true)
  })

  test('R29 thinking of other vendors stays here, and what was packed comes out as it was', () => {
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
      encrypted: 'sealed',
      format: 'vendor_d-responses-v1',
    }
    const input = [item(foreign), item(grok), { role: 'user', content: 'Hi' }]
    const passed = passRequest({ input }, target({ signatureFormat: 'vendor_d-responses-v1' }))
    expect(passed.body.input).toEqual([
      { type: 'reasoning', id: 'rs_x', summary: [], encrypted_content: 'sealed' },
      { role: 'user', content: 'Hi' },
    ])
    expect(passed.dropped).toEqual(['reasoning_signature'])
  })

  test('what the upstream would refuse is left out by its name in this format', () => {
    const unsupportedFields = new Set(['max_tokens', 'verbosity', 'temperature'])
    const given = { input: 'Hi', max_output_tokens: 5, text: { verbosity: 'low' }, temperature: null }
    const { body, dropped } = passRequest(
      given,
      target({ unsupportedFields, reasoning: null, stream: false }),
    )
    expect(body).toEqual({ input: 'Hi', model: 'upstream-model', store: false })
    expect(dropped).toEqual(['max_tokens', 'verbosity'])
  })
})
