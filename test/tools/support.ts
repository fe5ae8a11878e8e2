import type { TestServer } from '../support/harness.ts'

export type Format = 'chat' | 'messages' | 'responses'
const paths = { chat: '/chat/completions', messages: '/messages', responses: '/responses' }

/** Models of the sandbox with prices, and one whose provider cannot be reached. */
export const modelSettings = `
providers:
  - { slug: closed, name: Closed, base_url: "http://127.0.0.1:1", dialects: [chat], api_key: secret }
models:
  - id: test/outer
    name: Outer
    supported_parameters: [tools, tool_choice, max_tokens, response_format, structured_outputs]
    endpoints: [{ provider: sandbox, upstream_model: echo, pricing: { prompt: "0.000001", completion: "0.000002" } }]
  - id: test/inner
    name: Inner
    supported_parameters: [tools, tool_choice, max_tokens, response_format, structured_outputs]
    endpoints: [{ provider: sandbox, upstream_model: echo, pricing: { prompt: "0.00001", completion: "0.00002" } }]
  - { id: test/broken, name: Broken, endpoints: [{ provider: closed, upstream_model: any }] }
`

export function bodyOf(format: Format, text: string, tools: object[], more: object = {}): object {
  const prompt = format === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] }
  const limit = format === 'messages' ? { max_tokens: 1000 } : {}
  return { model: 'test/outer', ...limit, ...prompt, ...(tools.length > 0 && { tools }), ...more }
}

export function send(server: TestServer, format: Format, text: string, tools: object[], more: object = {}) {
  return server.call('POST', paths[format], {
    key: server.own.inferenceKey,
    body: bodyOf(format, text, tools, more),
  })
}

/** The events of a streamed reply. */
export async function stream(
  server: TestServer,
  format: Format,
  text: string,
  tools: object[],
  more: object = {},
) {
  const response = await fetch(`${server.url}/api/v1${paths[format]}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${server.own.inferenceKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(bodyOf(format, text, tools, { stream: true, ...more })),
  })
  const lines = (await response.text()).split('\n').filter((line) => line.startsWith('data: {'))
  // biome-ignore lint/suspicious/noExplicitAny: events of every shape
  return lines.map((line): any => JSON.parse(line.slice(6)))
}

// biome-ignore lint/suspicious/noExplicitAny: items of every shape
export function itemOf(body: any, type: string): any {
  return body.output.find((item: { type: string }) => item.type === type)
}
