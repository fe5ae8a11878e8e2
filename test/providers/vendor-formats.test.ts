import { expect, test } from 'bun:test'
import { describeWithUpstreamsOnSqlite, sendRequest } from '../inference/two-upstreams.ts'
import { encodeBedrockException, encodeConverseEvent } from '../support/aws-event-stream.ts'

/** Two upstreams that have only the format of their vendor. */
const settings = (converse: string, cohere: string) => `
providers:
  - { slug: bedrock, name: Bedrock, like: amazon-bedrock, base_url: "${converse}", api_key: vendor-secret }
  - { slug: command, name: Command, like: cohere, base_url: "${cohere}/compatibility/v1", api_key: vendor-secret }
models:
  - { id: test/nova, name: Nova, endpoints: [
      { provider: bedrock, upstream_model: "amazon.nova-pro-v1:0", dialects: [converse],
        pricing: { prompt: "0.000001", completion: "0.000004" } }] }
  - { id: test/command, name: Command, endpoints: [
      { provider: command, upstream_model: command-a, dialects: [cohere-chat],
        pricing: { prompt: "0.000001", completion: "0.000004" } }] }
`

const schema = { type: 'object', properties: { city: { type: 'string' } } }
const question = [{ role: 'user', content: 'Is it cold in Graz?' }]
const clients = {
  chat: {
    messages: question,
    tools: [{ type: 'function', function: { name: 'weather', parameters: schema } }],
    stream_options: { include_usage: true },
  },
  messages: { max_tokens: 100, messages: question, tools: [{ name: 'weather', input_schema: schema }] },
} as const

const usage = { inputTokens: 100, outputTokens: 25 }
const toolUse = { toolUseId: 't1', name: 'weather' }
const converseEvents = [
  ['messageStart', { role: 'assistant' }],
  ['contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'I look.' } }],
  ['contentBlockStop', { contentBlockIndex: 0 }],
  ['contentBlockStart', { contentBlockIndex: 1, start: { toolUse } }],
  ['contentBlockDelta', { contentBlockIndex: 1, delta: { toolUse: { input: '{"city":"Graz"}' } } }],
  ['contentBlockStop', { contentBlockIndex: 1 }],
  ['messageStop', { stopReason: 'tool_use' }],
  ['metadata', { usage }],
] as const
const converseReply = {
  output: {
    message: {
      role: 'assistant',
      content: [{ text: 'I look.' }, { toolUse: { ...toolUse, input: { city: 'Graz' } } }],
    },
  },
  stopReason: 'tool_use',
  usage,
}
const eventStream = { 'content-type': 'application/vnd.amazon.eventstream' }

const call = (text: string) => ({
  id: 't1',
  type: 'function',
  function: { name: 'weather', arguments: text },
})
const end = {
  finish_reason: 'TOOL_CALL',
  usage: { billed_units: { input_tokens: 100, output_tokens: 25 }, tokens: { input_tokens: 900 } },
}
const cohereEvents = [
  { type: 'message-start', id: 'r1', delta: { message: { role: 'assistant' } } },
  { type: 'tool-plan-delta', delta: { message: { tool_plan: 'I look.' } } },
  { type: 'tool-call-start', index: 0, delta: { message: { tool_calls: call('') } } },
  {
    type: 'tool-call-delta',
    index: 0,
    delta: { message: { tool_calls: { function: { arguments: '{"city":"Graz"}' } } } },
  },
  { type: 'tool-call-end', index: 0 },
  { type: 'message-end', delta: end },
]
const cohereReply = {
  id: 'r1',
  message: { tool_plan: 'I look.', tool_calls: [call('{"city":"Graz"}')] },
  ...end,
}

describeWithUpstreamsOnSqlite(
  'formats of single vendors',
  (bench) => {
    const upstreams = {
      nova: {
        of: () => bench().first,
        whole: { json: converseReply },
        streamed: { sse: converseEvents.map(encodeConverseEvent), headers: eventStream },
        path: /^\/model\/amazon\.nova-pro-v1%3A0\/converse/,
      },
      command: {
        of: () => bench().second,
        whole: { json: cohereReply },
        streamed: {
          sse: cohereEvents.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
        },
        path: /^\/v2\/chat$/,
      },
    } as const
    const cases = (['nova', 'command'] as const).flatMap((model) =>
      (['chat', 'messages'] as const).flatMap((client) =>
        [false, true].map((stream) => [model, client, stream ? 'streamed' : 'whole'] as const),
      ),
    )

    test.each(cases)(
      'R31 %s for a client of %s, %s: text, a call and the exact cost',
      async (model, client, mode) => {
        const { of, path, ...replies } = upstreams[model]
        of().enqueue(replies[mode])
        const stream = mode === 'streamed'
        const response = await sendRequest(bench(), client, {
          ...clients[client],
          model: `test/${model}`,
          stream,
        })
        const text = await response.text()
        expect(response.status).toBe(200)
        expect(text).toContain('I look.')
        expect(text).toContain(client === 'chat' ? 'tool_calls' : 'tool_use')
        expect(text.replaceAll('\\', '')).toContain('"city":"Graz"')
        expect(text).toContain(client === 'chat' ? '"completion_tokens":25' : '"output_tokens":25')
        expect(of().requests.at(-1)?.path).toMatch(path)
        const id = response.headers.get('x-generation-id')
        const { body } = await bench().server.call('GET', `/generation?id=${id}`)
        expect(body.data).toMatchObject({
          total_cost: 0.0002,
          native_tokens_prompt: 100,
          native_tokens_completion: 25,
        })
      },
    )

    test('R33 an exception inside a stream ends the client’s stream with an error', async () => {
      const begun = converseEvents.slice(0, 2).map(encodeConverseEvent)
      const sse = [...begun, encodeBedrockException('modelStreamErrorException', 'The model broke.')]
      bench().first.enqueue({ sse, headers: eventStream })
      const body = { ...clients.chat, model: 'test/nova', stream: true }
      const text = await (await sendRequest(bench(), 'chat', body)).text()
      expect(text).toContain('I look.')
      expect(text).toContain('"error":{')
      expect(text).not.toContain('"finish_reason":"stop"')
    })
  },
  settings,
)
