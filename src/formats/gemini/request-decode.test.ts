import { describe, expect, test } from 'bun:test'
import { GatewayError } from '../../platform/errors/gateway-error.ts'
import { flattenIssues } from '../../platform/validation/validation-issues.ts'
import sdk from './fixtures/request-sdk.json'
import { decodeRequest } from './request-decode.ts'
import { geminiBody } from './schema.ts'

const decode = (body: object) => decodeRequest({ contents: 'hi', model: 'm', stream: false, ...body })
const parts = (...modelParts: object[]) =>
  decode({ contents: [{ role: 'model', parts: modelParts }] }).messages[0]?.parts

function problems(body: object): string[] {
  const parsed = geminiBody.safeParse(body)
  return parsed.success ? [] : flattenIssues(parsed.error).map(({ path }) => path.join('.'))
}

describe('a request of the vendor SDK', () => {
  const call = decodeRequest({ ...structuredClone(sdk), model: 'x/y', stream: true, session_id: 's' })

  test('is valid and decoded', () => {
    expect(problems(sdk)).toEqual([])
    expect(call.stream).toBe(true)
    expect(call.messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user'])
    expect(call).toMatchObject({
      temperature: 0.4,
      topP: 0.9,
      topK: 40,
      maxTokens: 2048,
      stop: ['END'],
      seed: 7,
      toolChoice: { kind: 'tool', name: 'tide_table' },
      reasoning: { maxTokens: 1024, exclude: false },
    })
  })

  test('R31: fields that only this format has are reported, gateway fields are not', () => {
    expect(call.unknown.sort()).toEqual(['generationConfig.mediaResolution', 'safetySettings'])
  })

  test('R32: schemas keep every keyword; only types change to lower case', () => {
    expect(call.tools?.[0]).toEqual({
      kind: 'function',
      name: 'tide_table',
      description: 'Heights at a port',
      schema: {
        type: 'object',
        properties: {
          port: { type: 'string', enum: ['Brest', 'Saint-Malo'] },
          type: { type: 'string', nullable: true, description: 'STRING of the kind' },
          days: { type: 'array', items: { type: 'integer', format: 'int32' }, minItems: 1 },
        },
        required: ['port'],
        propertyOrdering: ['port', 'type', 'days'],
      },
    })
    expect(call.tools?.[1]).toEqual({
      kind: 'native',
      wireFormat: 'gemini',
      type: 'googleSearch',
      value: { googleSearch: {} },
    })
    expect(call.format).toEqual({
      kind: 'schema',
      schema: { type: 'object', properties: { height: { type: 'number' } }, required: ['height'] },
    })
  })

  test('tool calls get stable ids, and results are matched in order', () => {
    const [, first, second] = call.messages[2]?.parts.filter((part) => part.kind !== 'text') ?? []
    expect(first).toMatchObject({ kind: 'tool-call', id: 'gcall_0', arguments: '{"port":"Brest","days":2}' })
    expect(second).toMatchObject({ kind: 'tool-call', id: 'gcall_1' })
    expect(call.messages[3]?.parts).toEqual([
      { kind: 'tool-result', id: 'gcall_0', name: 'tide_table', content: [{ kind: 'text', text: '7.6 m' }] },
      {
        kind: 'tool-result',
        id: 'gcall_1',
        name: 'tide_table',
        content: [{ kind: 'text', text: '{"height":12.1,"unit":"m"}' }],
      },
    ])
  })

  test('R29: a signature precedes its tool call and has its id', () => {
    expect(call.messages[2]?.parts[1]).toEqual({
      kind: 'reasoning',
      id: 'gcall_0',
      text: '',
      summary: [],
      signature: 'EuwBCukBAcu9s2Rk/first+call==',
      format: 'vendor_c-v1',
    })
  })
})

test('both spellings, single values for lists and plain strings are equivalent', () => {
  const snake = decode({
    system_instruction: { parts: { text: 'Be brief.' } },
    contents: { parts: [{ inline_data: { mime_type: 'audio/mpeg', data: 'AAAA' } }, 'hi'] },
    generation_config: { max_output_tokens: 5, thinking_config: { thinking_level: 'LOW' } },
    tools: { function_declarations: [{ name: 'f', parameters_json_schema: { type: 'object' } }] },
    tool_config: { function_calling_config: { mode: 'NONE' } },
  })
  const camel = decode({
    systemInstruction: 'Be brief.',
    contents: [
      { role: 'user', parts: [{ inlineData: { mimeType: 'audio/mpeg', data: 'AAAA' } }, { text: 'hi' }] },
    ],
    generationConfig: { maxOutputTokens: 5, thinkingConfig: { thinkingLevel: 'low' } },
    tools: [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: { type: 'object' } }] }],
    toolConfig: { functionCallingConfig: { mode: 'NONE' } },
  })
  expect(snake).toEqual(camel)
  expect(snake.messages[1]?.parts[0]).toEqual({ kind: 'audio', data: 'AAAA', format: 'mp3' })
})

test('wrong types are rejected with the path of the field; unknown fields pass', () => {
  expect(problems({})).toEqual(['contents'])
  expect(problems({ contents: [] })).toEqual(['contents'])
  expect(problems({ contents: [{ parts: [{ text: 5 }] }] })).toEqual(['contents.0.parts.0.text'])
  expect(problems({ contents: 'x', generation_config: { top_p: 'a' } })).toEqual(['generation_config.top_p'])
  expect(problems({ contents: 'x', provider: { order: 5 } })).toEqual(['provider.order'])
  expect(problems({ contents: 'x', novel: 1, generationConfig: { novel: { a: 1 } } })).toEqual([])
  expect(problems({ contents: [{ role: 'robot', parts: [] }] })).toEqual(['contents.0.role'])
  expect(() => decode({ contents: [{ parts: [{ inlineData: { data: '' } }] }] })).toThrow(GatewayError)
})

test('thinking options', () => {
  const decodeThinking = (thinkingConfig: object) =>
    decode({ generationConfig: { thinkingConfig } }).reasoning
  expect(decodeThinking({ thinkingBudget: 0 })).toEqual({ enabled: false })
  expect(decodeThinking({ thinkingBudget: -1, includeThoughts: true })).toEqual({
    adaptive: true,
    exclude: false,
  })
  expect(decodeThinking({ thinkingLevel: 'HIGH', includeThoughts: false })).toEqual({
    effort: 'high',
    exclude: true,
  })
  expect(decodeThinking({})).toBeUndefined()
})

test('tool choice', () => {
  const choice = (functionCallingConfig: object) =>
    decode({ toolConfig: { functionCallingConfig } }).toolChoice
  expect(choice({ mode: 'AUTO' })).toEqual({ kind: 'auto' })
  expect(choice({ mode: 'ANY' })).toEqual({ kind: 'required' })
  expect(choice({ mode: 'ANY', allowedFunctionNames: ['a', 'b'] })).toEqual({
    kind: 'allowed',
    required: true,
    names: ['a', 'b'],
  })
  expect(choice({ mode: 'VALIDATED', allowedFunctionNames: ['a'] })).toEqual({
    kind: 'allowed',
    required: false,
    names: ['a'],
  })
})

test('inline media by type, linked media by URI', () => {
  expect(
    parts(
      { inlineData: { mimeType: 'application/pdf', data: 'QQ==' } },
      { fileData: { fileUri: 'https://a.example/x.JPG?s=1' } },
      { fileData: { fileUri: 'https://www.youtube.com/watch?v=1' } },
      { fileData: { fileUri: 'gs://bucket/doc', mimeType: 'application/pdf' } },
      { executableCode: { language: 'PYTHON', code: '1+1' } },
    ),
  ).toEqual([
    { kind: 'file', source: { kind: 'data', mediaType: 'application/pdf', data: 'QQ==' } },
    { kind: 'image', source: { kind: 'url', url: 'https://a.example/x.JPG?s=1' } },
    { kind: 'video', source: { kind: 'url', url: 'https://www.youtube.com/watch?v=1' } },
    { kind: 'file', source: { kind: 'file', id: 'gs://bucket/doc' } },
    { kind: 'opaque', wireFormat: 'gemini', value: { executableCode: { language: 'PYTHON', code: '1+1' } } },
  ])
})

// The documentation of Google's libraries sends results in the role "tool".
test.each(['function', 'tool'])(
  'results in the role %s are matched by id before name, and have an error flag',
  (role) => {
    const call = decode({
      contents: [
        { role: 'model', parts: ['b', 'a'].map((id) => ({ functionCall: { id, name: 'f', args: {} } })) },
        {
          role,
          parts: ['a', 'b'].map((id) => ({ functionResponse: { id, name: 'f', response: { error: id } } })),
        },
      ],
    })
    expect(call.messages[1]).toMatchObject({ role: 'user', parts: [{ id: 'a', isError: true }, { id: 'b' }] })
  },
)

test('consecutive thoughts are joined, and a signature after the text stays after it', () => {
  expect(
    parts(
      { text: 'a', thought: true },
      { text: 'b', thought: true, thoughtSignature: 's1' },
      { text: 'answer' },
      { text: '', thoughtSignature: 's2' },
    ),
  ).toEqual([
    { kind: 'reasoning', text: 'ab', summary: [], signature: 's1', format: 'vendor_c-v1' },
    { kind: 'text', text: 'answer' },
    { kind: 'reasoning', text: '', summary: [], signature: 's2', format: 'vendor_c-v1' },
  ])
})
