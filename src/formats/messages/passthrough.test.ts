import { expect, test } from 'bun:test'
import { createTarget, readJsonFixture } from '../../../test/formats/fixtures/messages.ts'
import { packReasoning } from '../call/reasoning.ts'
import { passRequest } from './passthrough.ts'

const hello = [{ role: 'user', content: 'hello' }]

test('R31: the body of a coding agent passes unchanged, except for the model and the user', () => {
  const body = readJsonFixture('coding-agent.json')
  const { body: sent, dropped, path } = passRequest(body, createTarget({ stream: true }))
  const { metadata, ...rest } = sent as { metadata: { user_id: string } }
  const { metadata: _metadata, ...expected } = body
  expect(rest as object).toEqual({ ...expected, model: 'claude-opus-4-6' })
  expect(metadata.user_id).toMatch(/^[0-9a-f]{32}$/)
  expect(sent.messages).toBe(body.messages)
  expect(sent.tools).toBe(body.tools)
  expect([path, dropped]).toEqual(['/messages', []])
})

test('gateway fields are not sent', () => {
  const { body } = passRequest(
    {
      model: 'x',
      messages: hello,
      provider: { order: ['a'] },
      plugins: [],
      fallbacks: [{ model: 'y' }],
      session_id: 's',
      trace: {},
      user: 'ada',
      stream: true,
      made_up: 1,
    },
    createTarget(),
  )
  expect(Object.keys(body).sort()).toEqual(['made_up', 'max_tokens', 'messages', 'metadata', 'model'])
})

test('R29: reasoning of other vendors is removed and reported, native thinking is preserved', () => {
  const nativeBlock = { type: 'thinking', thinking: 'a', signature: 'sig' }
  const foreign = packReasoning({
    kind: 'reasoning',
    text: '',
    summary: [],
    encrypted: 'gAAA',
    format: 'vendor_b-responses-v1',
  })
  const restored = packReasoning({
    kind: 'reasoning',
    id: 'x',
    text: 'b',
    summary: [],
    signature: 'sig2',
    format: 'vendor_a-v1',
  })
  const messages = [
    ...hello,
    {
      role: 'assistant',
      content: [
        nativeBlock,
        { type: 'thinking', thinking: '', signature: foreign, format: 'vendor_b-responses-v1' },
        { type: 'thinking', thinking: 'b', signature: restored },
        { type: 'thinking', thinking: 'c', signature: '' },
        { type: 'service_bash_tool_result', tool_use_id: 't', content: {} },
        { type: 'text', text: 'hi' },
      ],
    },
    { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: foreign }] },
  ]
  const { body, dropped } = passRequest({ model: 'x', messages }, createTarget())
  expect(body.messages).toEqual([
    ...hello,
    {
      role: 'assistant',
      content: [
        nativeBlock,
        { type: 'thinking', thinking: 'b', signature: 'sig2' },
        { type: 'text', text: 'hi' },
      ],
    },
  ])
  expect(dropped).toEqual(['block:service_bash_tool_result', 'reasoning', 'reasoning_signature'])
})

test('tiers and unsupported fields are removed and reported', () => {
  const clientBody = {
    model: 'x',
    messages: hello,
    service_tier: 'flex',
    temperature: 1,
    output_config: { effort: 'low', format: { type: 'json_schema', schema: {} } },
  }
  const { body, dropped } = passRequest(
    clientBody,
    createTarget({ unsupportedFields: new Set(['temperature', 'reasoning']) }),
  )
  expect(body).toEqual({
    model: 'claude-opus-4-6',
    messages: hello,
    max_tokens: 4096,
    output_config: { format: { type: 'json_schema', schema: {} } },
  })
  expect(dropped).toEqual(['reasoning', 'service_tier', 'temperature'])
})
