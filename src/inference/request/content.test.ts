import { describe, expect, test } from 'bun:test'
import { buildFakeCatalog, buildFakeRequest } from '../../../test/support/fake-routing.ts'
import type { ModelCall } from '../../formats/call/call.ts'
import type { JsonObject } from '../../platform/json/json-values.ts'
import { encodeFor } from '../upstream/translate.ts'
import type { ClientFormat } from './client-format.ts'
import { RequestContent } from './content.ts'
import { formats } from './formats.ts'

const secret = 'hunter2'

const bodies: Record<keyof typeof formats, JsonObject> = {
  chat: {
    messages: [
      { role: 'system', content: `Never say ${secret}.` },
      { role: 'user', content: [{ type: 'text', text: `Is it ${secret}?` }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          {
            id: 'c1',
            type: 'function',
            function: { name: 'look_up', arguments: JSON.stringify({ q: secret }) },
          },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: secret },
    ],
    tools: [{ type: 'function', function: { name: 'look_up', description: secret, parameters: {} } }],
  },
  messages: { system: secret, max_tokens: 10, messages: [{ role: 'user', content: secret }] },
  responses: { instructions: secret, input: [{ role: 'user', content: secret }] },
  gemini: {
    systemInstruction: { parts: [{ text: secret }] },
    contents: [{ role: 'user', parts: [{ text: secret }] }],
  },
  completions: { prompt: `Repeat ${secret}` },
  ollamaChat: { messages: [{ role: 'user', content: secret }] },
  ollamaGenerate: { system: secret, prompt: secret },
  cohereChat: {
    messages: [
      { role: 'user', content: secret },
      { role: 'assistant', tool_plan: secret, tool_calls: [{ id: 'c1', function: { name: 'look_up' } }] },
      { role: 'tool', tool_call_id: 'c1', content: [{ type: 'document', document: { data: { secret } } }] },
    ],
    documents: [secret, { data: { text: secret } }],
  },
  responsesAsChat: { input: secret },
}

function parse(format: ClientFormat, body: JsonObject): RequestContent {
  return RequestContent.parse(format, body, { text: JSON.stringify(body), body, values: 1 })
}

function redact(call: ModelCall): ModelCall {
  return JSON.parse(JSON.stringify(call).replaceAll(secret, '***'))
}

describe.each(Object.keys(formats) as (keyof typeof formats)[])('a request in the format %s', (name) => {
  const format: ClientFormat = formats[name]
  const fields = { model: 'test/model', temperature: 0.5 }
  const content = parse(format, { ...fields, ...bodies[name] })

  test('has its own text until it is rewritten', () => {
    expect(content.verbatim).not.toBeNull()
    expect(JSON.stringify(content.body)).toContain(secret)
  })

  test('has nothing of the original prompt left once it is rewritten', () => {
    const rewritten = content.rewrite(format, redact(content.call))
    expect(rewritten.verbatim).toBeNull()
    expect(JSON.stringify(rewritten)).not.toContain(secret)
    expect(JSON.stringify(rewritten.body)).toContain('***')
    expect(rewritten.body).toMatchObject(fields)
  })
})

test('a rewritten request is encoded, not passed through, for an upstream of its own format', () => {
  const [model] = buildFakeCatalog([{ id: 'test/model', endpoints: [{ provider: 'acme', price: 1 }] }]).models
  const [endpoint] = model?.endpoints ?? []
  if (!model || !endpoint) throw new Error('the catalog has no endpoint')
  const request = buildFakeRequest({ model: 'test/model', ...bodies.chat })
  expect(encodeFor(request, model, endpoint)).toMatchObject({ isPassThrough: true })

  const content = request.content.rewrite(request.format, redact(request.content.call))
  const encoded = encodeFor({ ...request, content }, model, endpoint)
  expect(encoded.isPassThrough).toBe(false)
  expect(JSON.stringify(encoded.upstreamRequest)).not.toContain(secret)
})

test('a request whose text was released is measured and read as before', () => {
  const content = parse(formats.chat, { messages: [{ role: 'user', content: 'Hello' }] })
  const before = { size: content.measure(), tokens: content.promptTokens }
  content.releaseText()
  expect(content.verbatim).toBeNull()
  expect({ size: content.measure(), tokens: content.promptTokens }).toEqual(before)
  expect(content.call.messages).toHaveLength(1)
})
