import { describe, expect, test } from 'bun:test'
import { dialects } from './all.ts'
import { targetOf } from './conformance/targets.ts'
import { reasoningFormatOf } from './reasoning-format.ts'

const names = [
  ['anthropic-claude-v1', 'vendor_a-v1'],
  ['google-gemini-v1', 'vendor_c-v1'],
  ['openai-responses-v1', 'vendor_b-responses-v1'],
  ['xai-responses-v1', 'vendor_d-responses-v1'],
] as const

describe.each(names)('R29 thinking that a client calls %s', (name, format) => {
  test('is of our format in a history of chat', () => {
    const details = [{ type: 'reasoning.encrypted', data: 'sealed', id: 'r1', format: name, index: 0 }]
    const message = { role: 'assistant', content: 'x', reasoning_details: details }
    const [asked] = dialects.chat.client.decodeRequest({ messages: [message] }).messages
    expect(asked?.parts[0]).toMatchObject({ kind: 'reasoning', id: 'r1', format })
  })

  test('is of our format in a history of responses, and passes to its own vendor only', () => {
    const item = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed', format: name }
    const body = { input: [item] }
    const [asked] = dialects.responses.client.decodeRequest(body).messages
    expect(asked?.parts[0]).toMatchObject({ kind: 'reasoning', id: 'rs_1', encrypted: 'sealed', format })
    const own = dialects.responses.same.passRequest(body, targetOf('responses', { signatures: format }))
    expect(own.body.input).toMatchObject([{ id: 'rs_1', encrypted_content: 'sealed' }])
    expect(own.dropped).toEqual([])
    const foreign = dialects.responses.same.passRequest(
      body,
      targetOf('responses', { signatures: 'unknown' }),
    )
    expect(foreign).toMatchObject({ body: { input: [] }, dropped: ['reasoning_signature'] })
  })
})

test.each([['constructor'], [{ toString: 1 }], [null], [undefined]])('%j is no format', (name) => {
  expect(reasoningFormatOf(name)).toBeUndefined()
})
