import { expect, test } from 'bun:test'
import type { JsonObject } from '../platform/json/json-values.ts'
import { addSynonyms, readServiceHeader, translateFieldNames, translateSynonyms } from './synonyms.ts'

const routers = new Set([
  'service/auto',
  'service/fusion',
  'openrouter/stealth',
  'openrouter/free',
  'service/free',
])
const translate = (body: JsonObject) => translateSynonyms(body, (name) => routers.has(name))

test('router models, unless the catalog has a model of that name', () => {
  expect(translate({ model: 'openrouter/auto', models: ['openrouter/fusion', 'lab/chat'] })).toEqual({
    model: 'service/auto',
    models: ['service/fusion', 'lab/chat'],
  })
  expect(translate({ fallbacks: [{ model: 'openrouter/auto' }] })).toEqual({
    fallbacks: [{ model: 'service/auto' }],
  })
  for (const model of ['openrouter/free', 'openrouter/stealth', 'openrouter/unknown', 'service/auto', 'a/b'])
    expect(translate({ model })).toEqual({ model })
})

test('server tools, what they contain, and the choice of one', () => {
  const body = {
    tools: [
      { type: 'openrouter:web_search', parameters: { engine: 'exa' } },
      { type: 'openrouter:bash', parameters: { engine: 'openrouter' } },
      {
        type: 'openrouter:subagent',
        parameters: { model: 'openrouter/auto', tools: [{ type: 'openrouter:datetime' }] },
      },
    ],
    tool_choice: { type: 'openrouter:web_search' },
    input: [{ type: 'openrouter:datetime', id: 'x' }, { role: 'user' }],
    plugins: [{ id: 'fusion', analysis_models: ['openrouter/auto'], model: 'lab/chat' }],
  }
  expect(translate(body)).toEqual({
    tools: [
      { type: 'service:web_search', parameters: { engine: 'exa' } },
      { type: 'service:bash', parameters: { engine: 'service' } },
      {
        type: 'service:subagent',
        parameters: { model: 'service/auto', tools: [{ type: 'service:datetime' }] },
      },
    ],
    tool_choice: { type: 'service:web_search' },
    input: [{ type: 'service:datetime', id: 'x' }, { role: 'user' }],
    plugins: [{ id: 'fusion', analysis_models: ['service/auto'], model: 'lab/chat' }],
  })
})

test('a body without them is the same object, and texts of the client are never changed', () => {
  const parameters = {
    properties: { type: { enum: ['openrouter:web_search'] }, model: { const: 'openrouter/auto' } },
  }
  const body = {
    model: 'lab/chat',
    messages: [{ role: 'user', content: 'openrouter/auto' }],
    input: 'openrouter:web_search',
    tools: [{ type: 'function', function: { name: 'f', parameters } }],
    tool_choice: 'auto',
    plugins: [{ id: 'web', max_results: 3 }],
  }
  expect(translate(body)).toBe(body)
})

test('guardrail fields; the name of this API takes precedence', () => {
  expect(
    translateFieldNames({
      name: 'g',
      enforce_zdr_anthropic: true,
      enforce_zdr_xai: true,
      enforce_zdr_vendor_d: false,
    }),
  ).toEqual({ name: 'g', enforce_zdr_vendor_a: true, enforce_zdr_vendor_d: false })
  const body = { name: 'g', enforce_zdr_other: true }
  expect(translateFieldNames(body)).toBe(body)
})

test('results, of one object and of lists', () => {
  const file = { _shape: 'vendor_b', id: 'f' }
  expect(addSynonyms({ _shape: 'service', data: [file] })).toEqual({
    _shape: 'openrouter',
    data: [{ _shape: 'openai', id: 'f' }],
  })
  expect(addSynonyms({ data: { enforce_zdr_vendor_c: null } })).toEqual({
    data: { enforce_zdr_vendor_c: null, enforce_zdr_google: null },
  })
})

test('headers', () => {
  const headers = new Headers({
    'X-OpenRouter-Cache': 'true',
    'X-OpenRouter-Title': 'a',
    'X-Service-Title': 'b',
  })
  expect(readServiceHeader(headers, 'cache')).toBe('true')
  expect(readServiceHeader(headers, 'title')).toBe('b')
  expect(readServiceHeader(headers, 'cache-ttl')).toBeNull()
})
