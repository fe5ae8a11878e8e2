import { describe, expect, test } from 'bun:test'
import { createTarget } from '../../../test/formats/conformance/targets.ts'
import type { ModelCall } from '../call/call.ts'
import { encodeRequest } from './request-encode.ts'

const target = createTarget('messages', { model: 'us.amazon.nova-pro-v1:0' })
const claude = createTarget('messages', { model: 'anthropic.claude-sonnet-4-5-20250929-v1:0' })
const text = (value: string) => ({ kind: 'text', text: value }) as const
const ask = (value = 'Hello'): ModelCall['messages'][number] => ({ role: 'user', parts: [text(value)] })
const weather = { kind: 'function', name: 'weather', schema: { type: 'object', properties: {} } } as const

function encode(call: Partial<ModelCall>, to = target) {
  return encodeRequest({ messages: [ask()], stream: false, unknown: [], ...call } as ModelCall, to)
}

describe('R31 requests in the Converse format', () => {
  test('the model and streaming are in the path', () => {
    expect(encode({}).path).toBe('/model/us.amazon.nova-pro-v1%3A0/converse')
    expect(encode({}, { ...target, stream: true }).path).toBe(
      '/model/us.amazon.nova-pro-v1%3A0/converse-stream',
    )
  })

  test('settings have their names, and what a family has no field for is in its own', () => {
    const settings = {
      maxTokens: 50,
      temperature: 0.4,
      topP: 0.9,
      topK: 20,
      stop: ['END'],
      metadata: { team: 'search' },
      serviceTier: 'priority',
    }
    const { body, dropped } = encode(settings, { ...target, tier: 'priority' })
    expect(body).toMatchObject({
      inferenceConfig: { maxTokens: 50, temperature: 0.4, topP: 0.9, stopSequences: ['END'] },
      additionalModelRequestFields: { inferenceConfig: { topK: 20 } },
      requestMetadata: { team: 'search' },
      serviceTier: { type: 'priority' },
    })
    expect(dropped).toEqual([])
  })

  test('R32 fields without a counterpart are reported', () => {
    const { body, dropped } = encode({ seed: 1, frequencyPenalty: 1, n: 2, logprobs: true, user: 'ana' })
    expect(dropped).toEqual(['frequency_penalty', 'logprobs', 'n', 'seed', 'user'])
    expect(JSON.stringify(body)).not.toContain('ana')
  })

  test('instructions are the system prompt, and turns alternate', () => {
    const { body } = encode({
      messages: [
        { role: 'system', parts: [text('Be brief.')] },
        ask('One'),
        ask('Two'),
        { role: 'assistant', parts: [text('Three')] },
        { role: 'system', parts: [text('Now be long.')] },
      ],
    })
    expect(body.system).toEqual([{ text: 'Be brief.' }])
    expect(body.messages).toEqual([
      { role: 'user', content: [{ text: 'One' }, { text: 'Two' }] },
      { role: 'assistant', content: [{ text: 'Three' }] },
      { role: 'user', content: [{ text: '<system>\nNow be long.\n</system>' }] },
    ])
  })

  test('a conversation that the model begins gets a turn of the user', () => {
    const { body } = encode({ messages: [{ role: 'assistant', parts: [text('Hi')] }] })
    expect(body.messages).toMatchObject([{ role: 'user' }, { role: 'assistant' }])
  })

  test('blank text, which the vendor rejects, is not sent', () => {
    const { body } = encode({
      messages: [
        { role: 'system', parts: [text(' ')] },
        { role: 'assistant', parts: [text('\n'), text('Hi')] },
        { role: 'user', parts: [{ kind: 'tool-result', id: 't', content: [text('  ')] }, text('')] },
      ],
    })
    expect(body.system).toBeUndefined()
    expect(body.messages).toEqual([
      { role: 'user', content: [{ text: '(no text)' }] },
      { role: 'assistant', content: [{ text: 'Hi' }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 't', content: [{ text: '(no text)' }] } }] },
    ])
  })

  test('calls of tools and their results', () => {
    const { body } = encode({
      tools: [weather],
      toolChoice: { kind: 'tool', name: 'weather' },
      messages: [
        ask(),
        {
          role: 'assistant',
          parts: [{ kind: 'tool-call', id: 'c1', name: 'weather', arguments: '{"city":"Graz"}' }],
        },
        {
          role: 'user',
          parts: [text('And?'), { kind: 'tool-result', id: 'c1', content: [text('-3')], isError: true }],
        },
      ],
    })
    expect(body.toolConfig).toEqual({
      tools: [{ toolSpec: { name: 'weather', inputSchema: { json: weather.schema } } }],
      toolChoice: { tool: { name: 'weather' } },
    })
    expect(body.messages).toMatchObject([
      { role: 'user' },
      { content: [{ toolUse: { toolUseId: 'c1', name: 'weather', input: { city: 'Graz' } } }] },
      {
        content: [
          { toolResult: { toolUseId: 'c1', content: [{ text: '-3' }], status: 'error' } },
          { text: 'And?' },
        ],
      },
    ])
  })

  test('ids of calls have the characters and the length that the vendor accepts', () => {
    for (const id of ['functions.get:0', 'x'.repeat(200)]) {
      const { body } = encode({
        messages: [
          ask(),
          { role: 'assistant', parts: [{ kind: 'tool-call', id, name: 'weather', arguments: '{}' }] },
          { role: 'user', parts: [{ kind: 'tool-result', id, content: [text('-3')] }] },
        ],
      })
      const ids = [...JSON.stringify(body.messages).matchAll(/"toolUseId":"([^"]*)"/g)].map(
        ([, found]) => found,
      )
      expect(ids[0]).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      expect(ids[1]).toBe(ids[0])
    }
  })

  test('tools are left out when they are forbidden, but not where the conversation has calls', () => {
    expect(encode({ tools: [weather], toolChoice: { kind: 'none' } }).body).not.toHaveProperty('toolConfig')
    const messages: ModelCall['messages'] = [
      ask(),
      { role: 'assistant', parts: [{ kind: 'tool-call', id: 'c1', name: 'weather', arguments: '{}' }] },
      { role: 'user', parts: [{ kind: 'tool-result', id: 'c1', content: [text('-3')] }] },
    ]
    const { body, dropped } = encode({ tools: [weather], toolChoice: { kind: 'none' }, messages })
    expect(body).toHaveProperty('toolConfig')
    expect(dropped).toEqual(['tool_choice'])
  })

  test('images and documents are bytes, with unique names of few characters', () => {
    const pdf = { kind: 'data', mediaType: 'application/pdf', data: 'JVBERi0=' } as const
    const { body, dropped } = encode({
      messages: [
        {
          role: 'user',
          parts: [
            { kind: 'image', source: { kind: 'data', mediaType: 'image/png', data: 'iVBORw0=' } },
            { kind: 'file', source: pdf, filename: 'Q3_report!.pdf' },
            { kind: 'file', source: pdf, filename: 'Q3_report!.pdf' },
            { kind: 'image', source: { kind: 'url', url: 'https://example.com/a.png' } },
          ],
        },
      ],
    })
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { image: { format: 'png', source: { bytes: 'iVBORw0=' } } },
          { document: { format: 'pdf', name: 'Q3 report', source: { bytes: 'JVBERi0=' } } },
          { document: { format: 'pdf', name: 'Q3 report 2', source: { bytes: 'JVBERi0=' } } },
          { text: '(no text)' },
        ],
      },
    ])
    expect(dropped).toEqual(['image'])
  })

  test('reasoning of a family in its own fields, with what the vendor signed', () => {
    const { body, dropped } = encode(
      {
        reasoning: { maxTokens: 2000 },
        maxTokens: 8000,
        temperature: 0.2,
        messages: [
          ask(),
          {
            role: 'assistant',
            parts: [
              { kind: 'reasoning', text: 'Hm.', summary: [], signature: 'sig', format: 'vendor_a-v1' },
              text('Done.'),
            ],
          },
          ask('More'),
        ],
      },
      claude,
    )
    expect(body.additionalModelRequestFields).toEqual({ thinking: { type: 'enabled', budget_tokens: 2000 } })
    expect(JSON.stringify(body.messages)).toContain('{"reasoningText":{"text":"Hm.","signature":"sig"}}')
    expect(dropped).toEqual(['temperature'])
  })

  test('a schema of the reply, and breakpoints of the prompt cache', () => {
    const schema = { type: 'object', properties: { city: { type: 'string' } } }
    const { body } = encode({
      format: { kind: 'schema', name: 'place', schema },
      messages: [{ role: 'user', parts: [{ ...text('Hello'), cache: { ttl: '1h' } }] }],
    })
    expect(body.outputConfig).toEqual({
      textFormat: {
        type: 'json_schema',
        structure: { jsonSchema: { schema: JSON.stringify(schema), name: 'place' } },
      },
    })
    expect(body.messages).toEqual([
      { role: 'user', content: [{ text: 'Hello' }, { cachePoint: { type: 'default', ttl: '1h' } }] },
    ])
  })
})
