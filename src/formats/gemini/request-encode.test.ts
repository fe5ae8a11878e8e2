import { describe, expect, test } from 'bun:test'
import type { JsonObject } from '../../platform/json/json-values.ts'
import type { Message, ModelCall } from '../call/call.ts'
import type { ReasoningPart, ToolResultPart } from '../call/part.ts'
import type { Target } from '../wire-format.ts'
import sdk from './fixtures/request-sdk.json'
import { decodeRequest } from './request-decode.ts'
import { encodeRequest, passRequest } from './request-encode.ts'
import { packForeignReasoning } from './thoughts.ts'

const target: Target = {
  model: 'tidal-3-pro',
  stream: false,
  maxOutputTokens: 64_000,
  reasoning: { efforts: ['high', 'medium', 'low', 'minimal'], budget: false },
  signatureFormat: 'vendor_c-v1',
  reasoningHistory: { field: 'reasoning_content' },
  unsupportedFields: new Set(),
  capabilities: new Set(),
  reasoningMode: null,
  tier: null,
}
const budgeted: Target = { ...target, reasoning: { efforts: null, budget: true } }

const user: Message = { role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
const encode = (call: Partial<ModelCall>, to = target) =>
  encodeRequest({ messages: [user], stream: false, unknown: [], ...call }, to)
const contents = (...messages: Message[]) => encode({ messages }, budgeted).body.contents
const foreign: ReasoningPart = {
  kind: 'reasoning',
  text: 'hm',
  summary: [],
  signature: 'sig-a',
  format: 'vendor_a-v1',
}

test('the path has the model and the method', () => {
  expect(encode({}).path).toBe('/models/tidal-3-pro:generateContent')
  expect(encode({}, { ...target, stream: true }).path).toBe(
    '/models/tidal-3-pro:streamGenerateContent?alt=sse',
  )
})

test('system texts and consecutive turns are merged, and a user turn comes first', () => {
  const { body } = encode({
    messages: [
      { role: 'developer', parts: [{ kind: 'text', text: 'dev' }] },
      { role: 'system', parts: [{ kind: 'text', text: 'sys' }] },
      { role: 'assistant', parts: [{ kind: 'text', text: 'a' }] },
      user,
      { role: 'developer', parts: [{ kind: 'text', text: 'later' }] },
    ],
  })
  expect(body).toEqual({
    systemInstruction: { parts: [{ text: 'dev' }, { text: 'sys' }] },
    contents: [
      { role: 'user', parts: [{ text: ' ' }] },
      { role: 'model', parts: [{ text: 'a' }] },
      { role: 'user', parts: [{ text: 'hi' }, { text: 'later' }] },
    ],
  })
  expect(contents({ role: 'system', parts: [{ kind: 'text', text: 'only' }] })).toEqual([
    { role: 'user', parts: [{ text: 'only' }] },
  ])
})

test('results have the name of their call; objects are sent as objects, and text is wrapped', () => {
  const call = (id: string, text: string, custom = false) =>
    ({ kind: 'tool-call', id, name: `n_${id}`, arguments: text, ...(custom && { custom }) }) as const
  const result = (id: string, text: string, isError = false): ToolResultPart => ({
    kind: 'tool-result',
    id,
    content: [{ kind: 'text', text }],
    ...(isError && { isError }),
  })
  expect(
    contents(
      user,
      {
        role: 'assistant',
        parts: [call('1', '{"a":1}'), call('gcall_2', 'broken {'), call('3', 'ls', true)],
      },
      { role: 'user', parts: [{ kind: 'text', text: 'and?' }, result('1', '{"ok":true}')] },
      { role: 'user', parts: [result('gcall_2', '[1]'), result('3', 'no', true)] },
    ),
  ).toEqual([
    { role: 'user', parts: [{ text: 'hi' }] },
    {
      role: 'model',
      parts: [
        { functionCall: { id: '1', name: 'n_1', args: { a: 1 } } },
        { functionCall: { name: 'n_gcall_2', args: { raw_arguments: 'broken {' } } },
        { functionCall: { id: '3', name: 'n_3', args: { input: 'ls' } } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: '1', name: 'n_1', response: { ok: true } } },
        { functionResponse: { name: 'n_gcall_2', response: { result: '[1]' } } },
        { functionResponse: { id: '3', name: 'n_3', response: { error: 'no' } } },
        { text: 'and?' },
      ],
    },
  ])
})

describe('R29: thought signatures', () => {
  const sign = (signature: string, id?: string): ReasoningPart => ({
    kind: 'reasoning',
    text: '',
    summary: [],
    signature,
    format: 'vendor_c-v1',
    ...(id && { id }),
  })
  const call = (id: string) => ({ kind: 'tool-call', id, name: 'f', arguments: '{}' }) as const
  const model = (...parts: Message['parts']) =>
    (contents(user, { role: 'assistant', parts }) as { parts: JsonObject[] }[])[1]?.parts

  test('are attached to the call with their id, to the next part, or to an empty text', () => {
    expect(model(sign('s', 'a'), { kind: 'text', text: 't' }, call('a'), call('b'))).toEqual([
      { text: 't' },
      { functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: 's' },
      { functionCall: { id: 'b', name: 'f', args: {} } },
    ])
    expect(model(sign('s'), call('a'))).toEqual([
      { functionCall: { id: 'a', name: 'f', args: {} }, thoughtSignature: 's' },
    ])
    expect(model({ kind: 'text', text: 't' }, sign('s1'), sign('s2'))).toEqual([
      { text: 't' },
      { text: '', thoughtSignature: 's1' },
      { text: '', thoughtSignature: 's2' },
    ])
  })

  test('of the vendor SDK survive a round trip, on the first of parallel calls only', () => {
    const { body } = encodeRequest(decodeRequest(structuredClone(sdk)), budgeted)
    expect((body.contents as JsonObject[])[1]).toEqual(sdk.contents[1] as JsonObject)
  })

  test('that are missing on calls of another model are replaced in the current turn only', () => {
    const turn: Message[] = [
      { role: 'assistant', parts: [call('a'), call('b')] },
      { role: 'user', parts: [{ kind: 'tool-result', id: 'a', content: [] }] },
    ]
    const signatures = (to: Target) =>
      (
        encode({ messages: [user, ...turn, user, ...turn, ...turn] }, to).body.contents as {
          parts: JsonObject[]
        }[]
      )
        .flatMap(({ parts }) => parts)
        .flatMap((part) => (part.functionCall ? [part.thoughtSignature ?? null] : []))
    const excuse = 'skip_thought_signature_validator'
    expect(signatures(target)).toEqual([null, null, excuse, null, excuse, null])
    expect(signatures(budgeted)).toEqual([null, null, null, null, null, null])
    const undeclared = { ...target, reasoning: null }
    expect(signatures({ ...undeclared, model: 'gemini-3-pro-preview' })).toEqual(signatures(target))
    expect(signatures({ ...undeclared, model: 'gemini-2.5-flash' })).toEqual(signatures(budgeted))
  })

  test('are matched to calls in the next message of the model', () => {
    expect(
      contents(
        user,
        { role: 'assistant', parts: [sign('s', 'a')] },
        { role: 'assistant', parts: [call('a')] },
      ),
    ).toMatchObject([{}, { role: 'model', parts: [{ functionCall: { id: 'a' }, thoughtSignature: 's' }] }])
  })

  test('of other vendors are dropped and reported', () => {
    const unsigned: ReasoningPart = { kind: 'reasoning', text: 'x', summary: [], format: 'unknown' }
    const { body, dropped } = encode({
      messages: [user, { role: 'assistant', parts: [foreign, unsigned, { kind: 'text', text: 'a' }] }],
    })
    expect((body.contents as JsonObject[])[1]).toEqual({ role: 'model', parts: [{ text: 'a' }] })
    expect(dropped).toEqual(['reasoning', 'reasoning_signature'])
  })
})

test('R32: tool and response schemas pass unmodified', () => {
  const schema = {
    type: 'object',
    $defs: { a: { enum: ['X'] } },
    properties: {},
    required: ['q'],
    'x-own': 1,
  }
  const { body } = encode({
    tools: [
      { kind: 'function', name: 'f', namespace: 'ns', schema },
      { kind: 'custom', name: 'sh' },
      { kind: 'native', wireFormat: 'gemini', type: 'urlContext', value: { urlContext: {} } },
    ],
    toolChoice: { kind: 'allowed', required: false, names: ['ns__f'] },
    format: { kind: 'schema', schema },
  })
  const [functions, native] = body.tools as { functionDeclarations: JsonObject[] }[]
  expect(functions?.functionDeclarations[0]).toEqual({ name: 'ns__f', parametersJsonSchema: schema })
  expect(functions?.functionDeclarations[1]).toMatchObject({ parametersJsonSchema: { required: ['input'] } })
  expect(native as JsonObject | undefined).toEqual({ urlContext: {} })
  expect(body.toolConfig).toEqual({
    functionCallingConfig: { mode: 'VALIDATED', allowedFunctionNames: ['ns__f'] },
  })
  expect(body.generationConfig).toEqual({ responseMimeType: 'application/json', responseJsonSchema: schema })
})

test('thinking is requested by level or budget, depending on the model', () => {
  const config = (reasoning: NonNullable<ModelCall['reasoning']>, to = target) =>
    (encode({ reasoning, maxTokens: 10_000 }, to).body.generationConfig as JsonObject).thinkingConfig
  expect(config({ effort: 'xhigh' })).toEqual({ includeThoughts: true, thinkingLevel: 'high' })
  expect(config({ effort: 'none' })).toEqual({ thinkingLevel: 'minimal' })
  expect(config({ effort: 'low', exclude: true })).toEqual({ includeThoughts: false, thinkingLevel: 'low' })
  expect(config({ adaptive: true })).toEqual({ includeThoughts: true })
  expect(config({ effort: 'medium' }, budgeted)).toEqual({ includeThoughts: true, thinkingBudget: 5000 })
  expect(config({ enabled: false }, budgeted)).toEqual({ thinkingBudget: 0 })
  expect(config({ maxTokens: 512 }, budgeted)).toEqual({ includeThoughts: true, thinkingBudget: 512 })
  expect(config({ adaptive: true }, budgeted)).toEqual({ includeThoughts: true, thinkingBudget: -1 })
  const plain = encode({ reasoning: { effort: 'high' } }, { ...target, reasoning: null })
  expect(plain.body.generationConfig).toBeUndefined()
  expect(plain.dropped).toEqual(['reasoning'])
})

test('R31: fields that this format cannot express are reported', () => {
  const { dropped, body } = encode(
    {
      messages: [
        {
          role: 'user',
          name: 'ann',
          parts: [
            {
              kind: 'image',
              source: { kind: 'url', url: 'https://a.example/p.png' },
              detail: 'high',
              cache: {},
            },
            { kind: 'file', source: { kind: 'file', id: 'file-123' } },
            { kind: 'opaque', wireFormat: 'chat', value: { type: 'odd' } },
            { kind: 'audio', data: 'AAAA', format: 'mp3' },
          ],
        },
      ],
      logitBias: { 1: 2 },
      minP: 0.1,
      parallelToolCalls: false,
      user: 'u',
      metadata: { a: 'b' },
      serviceTier: 'scale',
      temperature: 0.3,
      tools: [{ kind: 'native', wireFormat: 'chat', type: 'web_search', value: {} }],
      unknown: ['novel'],
    },
    { ...target, unsupportedFields: new Set(['temperature']) },
  )
  expect(dropped).toEqual(
    [
      'block:odd',
      'cache_control',
      'file',
      'image_detail',
      'logit_bias',
      'message_name',
      'metadata',
      'min_p',
      'novel',
      'parallel_tool_calls',
      'service_tier',
      'temperature',
      'tool:web_search',
      'user',
    ].sort(),
  )
  expect(body).toEqual({
    contents: [
      {
        role: 'user',
        parts: [
          { fileData: { mimeType: 'image/png', fileUri: 'https://a.example/p.png' } },
          { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } },
        ],
      },
    ],
  })
})

describe('passthrough', () => {
  test('R31: the body passes unchanged, except for gateway fields', () => {
    const body = { ...structuredClone(sdk), novel: { a: [1] }, cachedContent: 'cachedContents/1' }
    const {
      body: passed,
      dropped,
      path,
    } = passRequest(
      { ...body, model: 'a/b', stream: true, provider: {}, models: ['x'], session_id: 's', plugins: [] },
      { ...target, stream: true },
    )
    expect(passed).toEqual(body)
    expect(passed.contents).toBe(body.contents)
    expect(dropped).toEqual([])
    expect(path).toEndWith(':streamGenerateContent?alt=sse')
  })

  test('R29: packed reasoning of other vendors is removed with its streamed thoughts', () => {
    const nativeThought = { text: 'mine', thought: true, thoughtSignature: 'own' }
    const { body, dropped } = passRequest(
      {
        contents: [
          {
            role: 'model',
            parts: [
              nativeThought,
              { text: 'h', thought: true },
              { text: 'm', thought: true },
              { text: '', thought: true, thoughtSignature: packForeignReasoning(foreign, true) },
              { text: 'answer' },
            ],
          },
        ],
      },
      target,
    )
    expect(body.contents).toEqual([{ role: 'model', parts: [nativeThought, { text: 'answer' }] }])
    expect(dropped).toEqual(['reasoning_signature'])
  })

  test('unsupported fields are removed and reported', () => {
    const { body, dropped } = passRequest(
      { contents: 'x', generation_config: { top_p: 1, seed: 1 }, toolConfig: {} },
      { ...target, unsupportedFields: new Set(['top_p', 'tool_choice']) },
    )
    expect(body.generation_config).toEqual({ seed: 1 })
    expect(body.toolConfig).toBeUndefined()
    expect(dropped).toEqual(['tool_choice', 'top_p'])
  })
})
