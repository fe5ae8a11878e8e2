import { expect, test } from 'bun:test'
import { startAnswer } from './answer.ts'
import { buildRequest, type Entry, shortenData } from './request.ts'
import { defaultSettings, findProblems, readSettings, removeCredentials } from './settings.ts'

const user = (text: string): Entry => ({ kind: 'user', id: text, text, attachments: [] })

test('fields that are not set are not sent', () => {
  expect(buildRequest('m', defaultSettings, [user('Hello')])).toEqual({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello' }],
    stream: true,
  })
})

test('every setting is a field of the request', () => {
  const settings = {
    ...defaultSettings,
    system: 'Be brief.',
    temperature: 0,
    maxTokens: 10,
    effort: 'low',
    format: 'json_schema' as const,
    schema: '{"type": "object"}',
    tools: '[{"type": "function", "function": {"name": "f"}}]',
    sort: 'price',
    only: ['sandbox'],
    allowFallbacks: false,
    denyTraining: true,
    zdr: true,
    stream: false,
  }
  expect(buildRequest('m', settings, [])).toEqual({
    model: 'm',
    messages: [{ role: 'system', content: 'Be brief.' }],
    temperature: 0,
    max_tokens: 10,
    reasoning: { effort: 'low' },
    response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: { type: 'object' } } },
    tools: [{ type: 'function', function: { name: 'f' } }],
    provider: {
      sort: 'price',
      only: ['sandbox'],
      allow_fallbacks: false,
      data_collection: 'deny',
      zdr: true,
    },
  })
  expect(readSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
})

test('a tool call is followed by its result, and a failed answer is left out', () => {
  const call = { id: 'c1', name: 'f', arguments: '{}' }
  const called: Entry = {
    kind: 'answer',
    id: 'a',
    answer: { ...startAnswer(0), toolCalls: [call] },
    request: null,
    results: { c1: '4 degrees' },
  }
  const failed: Entry = { kind: 'answer', id: 'b', answer: startAnswer(0), request: null, results: {} }
  expect(buildRequest('m', defaultSettings, [user('Go'), failed, called]).messages).toEqual([
    { role: 'user', content: 'Go' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c1', content: '4 degrees' },
  ])
})

test('images are sent as data, files by their id', () => {
  const url = `data:image/png;base64,${'A'.repeat(100)}`
  const entry: Entry = {
    kind: 'user',
    id: 'u',
    text: 'Look',
    attachments: [
      { kind: 'image', id: '1', name: 'a.png', url },
      { kind: 'file', id: '2', name: 'b.pdf', fileId: 'hg_file_1' },
    ],
  }
  const request = buildRequest('m', defaultSettings, [entry])
  expect(request.messages[0]?.content).toEqual([
    { type: 'text', text: 'Look' },
    { type: 'image_url', image_url: { url } },
    { type: 'file', file: { file_id: 'hg_file_1' } },
  ])
  expect(JSON.stringify(shortenData(request)).length).toBeLessThan(300)
})

test.each([
  ['{', 'not JSON'],
  ['{}', 'a JSON array'],
  ['[{}]', 'Tool 1: it needs a "type"'],
  ['[{"type": "function", "function": {"name": "a b"}}]', '"function.name"'],
  ['[{"type": "function", "function": {"name": "a", "parameters": {"type": "string"}}}]', '"type": "object"'],
  [
    '[{"type": "function", "function": {"name": "a", "parameters": {"type": "object", "required": ["b"]}}}]',
    'names "b"',
  ],
  [
    '[{"type": "function", "function": {"name": "a"}}, {"type": "function", "function": {"name": "a"}}]',
    'twice',
  ],
])('tools %s are refused', (tools, problem) => {
  expect(findProblems({ ...defaultSettings, tools }).tools).toContain(problem)
})

test('a link has no credentials of tools, and wrong settings of a link are ignored', () => {
  const tools = '[{"type": "mcp", "authorization": "secret", "headers": {"x": "secret"}}]'
  expect(removeCredentials({ ...defaultSettings, tools }).tools).toBe('[\n  {\n    "type": "mcp"\n  }\n]')
  expect(removeCredentials({ ...defaultSettings, tools: '{"authorization": "secr' }).tools).toBe('')
  expect(readSettings({ temperature: '1', effort: 'wild', only: [1], zdr: 'yes', format: 'xml' })).toEqual(
    defaultSettings,
  )
})
