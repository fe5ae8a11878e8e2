import { afterAll, expect, spyOn, test } from 'bun:test'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import { mcpTimes } from '../../src/inference/tools/mcp.ts'
import { gatewayError } from '../../src/platform/errors/gateway-error.ts'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { setKeyGuardrail } from '../guardrails/support.ts'
import {
  buildSettings,
  describeWithUpstreamsOnSqlite,
  readJson,
  sendRequest,
} from '../inference/two-upstreams.ts'
import { readSseData, replyWithCalls, replyWithText } from './replies.ts'

const model = 'sandbox/echo'
const secret = 'mcp-canary-token'
const received: { authorization: string | null }[] = []
let executed = 0

const http = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serve })
afterAll(() => http.stop(true))

/** The request that gets no response. */
let hanging = Promise.withResolvers<AbortSignal>()

async function serve(request: Request): Promise<Response> {
  if (request.url.endsWith('/hang')) {
    hanging.resolve(request.signal)
    return new Promise<Response>(() => undefined)
  }
  const [, status] = /\/status\/(\d+)$/.exec(request.url) ?? []
  if (status !== undefined) return new Response('secret page', { status: Number(status) })
  if (request.url.endsWith('/garbage'))
    return new Response('secret page', { headers: { 'content-type': 'application/json' } })
  received.push({ authorization: request.headers.get('authorization') })
  const server = new McpServer({ name: 'notes', version: '1' })
  const inputSchema = z.object({ title: z.string() })
  const annotations = { readOnlyHint: true }
  server.registerTool('find', { description: 'Finds a note.', inputSchema, annotations }, async () => {
    executed++
    return { content: [{ type: 'text', text: 'The note says 4711.' }] }
  })
  server.registerTool(
    'delete',
    { description: 'Deletes a note of jane.doe@example.com.', inputSchema },
    async () => {
      executed++
      return { content: [{ type: 'text', text: 'no such note' }], isError: true }
    },
  )
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  return transport.handleRequest(request)
}

const url = `http://127.0.0.1:${http.port}/mcp`
const entry = { type: 'mcp', server_label: 'notes', server_url: url, authorization: secret }

/** A model on a provider that connects to MCP servers itself. */
const connecting = `  - id: test/connects
    name: connects
    endpoints:
      - { provider: openai, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" } }
`

/** A model on a provider that connects to MCP servers itself, and on one that does not. */
const mixed = `  - id: test/mixed
    name: mixed
    endpoints:
      - { provider: openai, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" } }
      - { provider: one-responses, upstream_model: vendor-model, pricing: { prompt: "0.000001", completion: "0.000004" } }
`

describeWithUpstreamsOnSqlite(
  'tools of MCP servers',
  (bench) => {
    const respond = (body: JsonObject) =>
      readJson(sendRequest(bench(), 'responses', { model, input: 'Use notes__find', ...body }))

    const readReply = async (body: JsonObject) => {
      const text = await (await sendRequest(bench(), 'responses', body)).text()
      return body.stream ? readSseData(text).at(-1)?.response : JSON.parse(text)
    }
    const listTypes = ({ output }: { output: JsonObject[] }) => output.map(({ type }) => type)

    test('R40 a call without approval runs, and the secret of the server is in no reply', async () => {
      const reply = await respond({ tools: [{ ...entry, require_approval: 'never' }] })
      const [list, call, message] = reply.output
      expect(list).toMatchObject({ type: 'mcp_list_tools', server_label: 'notes' })
      expect(list.tools.map(({ name }: JsonObject) => name)).toEqual(['find', 'delete'])
      expect(call).toMatchObject({
        type: 'mcp_call',
        server_label: 'notes',
        name: 'find',
        output: 'The note says 4711.',
        error: null,
        status: 'completed',
      })
      expect(JSON.stringify(message)).toContain('4711')
      expect(JSON.stringify(reply)).not.toContain(secret)
      expect(received.at(-1)?.authorization).toBe(`Bearer ${secret}`)
    })

    test('a provider connects to servers only if every endpoint that may serve the request does', async () => {
      const { first } = bench()
      const typesSent = async (fields: JsonObject) => {
        first.requests.length = 0
        await (
          await sendRequest(bench(), 'responses', { model: 'test/mixed', tools: [entry], ...fields })
        ).text()
        const [request] = await first.waitForRequests(1)
        return request?.json.tools.map(({ type }: JsonObject) => type)
      }
      expect(await typesSent({})).toEqual(['function', 'function'])
      expect(await typesSent({ provider: { only: ['one-responses'] } })).toEqual(['function', 'function'])
      expect(await typesSent({ provider: { only: ['openai'] } })).toEqual(['mcp'])
    })

    test('the rate limit counts a request once, before a server is connected to', async () => {
      const consume = spyOn(bench().server.gateway.rateLimiter, 'tryConsume')
      const tools = [{ ...entry, require_approval: 'never' }]
      await respond({ tools })
      expect(consume.mock.calls.filter(([key]) => key.startsWith('key '))).toHaveLength(1)
      consume.mockImplementation(() => {
        throw gatewayError('rate_limited')
      })
      received.length = 0
      const response = await sendRequest(bench(), 'responses', { model, input: 'hi', tools })
      consume.mockRestore()
      expect([response.status, received.length]).toEqual([429, 0])
    })

    test('a server that does not list its tools in time is an error that a retry may solve', async () => {
      const { listMs } = mcpTimes
      mcpTimes.listMs = 100
      const tools = [{ ...entry, server_url: `${url}/hang` }]
      const response = await sendRequest(bench(), 'responses', { model, input: 'hi', tools })
      mcpTimes.listMs = listMs
      hanging = Promise.withResolvers()
      expect([response.status, response.headers.get('x-should-retry')]).not.toContain('false')
      const { error } = (await response.json()) as { error: JsonObject }
      expect(error).toMatchObject({ code: 408, metadata: { error_type: 'timeout' } })
      expect(error.message).toStartWith('tools[0]: the tools of the MCP server could not be listed: ')
    })

    test('a client that disconnects ends the requests to the server', async () => {
      const abort = new AbortController()
      const tools = [{ ...entry, server_url: `${url}/hang` }]
      const init = { signal: abort.signal }
      const sending = sendRequest(bench(), 'responses', { model, input: 'hi', tools }, init).catch(() => null)
      const signal = await hanging.promise
      const ended = new Promise((resolve) => signal.addEventListener('abort', resolve))
      abort.abort()
      await ended
      await sending
      hanging = Promise.withResolvers()
    })

    test('R40 nor is it where the gateway spells the type', async () => {
      const { type: _type, ...parameters } = { ...entry, headers: { 'x-token': secret } }
      const reply = await respond({ tools: [{ type: 'service:mcp', parameters }], input: 'hi' })
      expect(reply.tools).toMatchObject([{ type: 'service:mcp', parameters: { server_label: 'notes' } }])
      expect(JSON.stringify(reply)).not.toContain(secret)
    })

    for (const fields of [{}, { stream: true }, { background: true }]) {
      test(`R40 nor if a provider connects to the server itself: ${JSON.stringify(fields)}`, async () => {
        const { first } = bench()
        first.requests.length = 0
        const tools = [{ ...entry, headers: { 'x-token': secret } }]
        const text = 'Hi'
        const content = [{ type: 'output_text', text, annotations: [] }]
        const message = { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }
        const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }
        const vendor = {
          id: 'resp_1',
          object: 'response',
          status: 'completed',
          output: [message],
          usage,
          tools,
        }
        first.enqueue({ json: vendor })
        const response = await sendRequest(bench(), 'responses', { model: 'test/connects', tools, ...fields })
        const reply = await response.text()
        expect(response.status).toBe(200)
        expect(reply).toContain('"server_label":"notes"')
        expect(reply).not.toContain(secret)
        const [received] = await first.waitForRequests(1)
        expect(received?.json.tools).toEqual(tools)
      })
    }

    test('a stream has the events of the call', async () => {
      const tools = [{ ...entry, require_approval: 'never' }]
      const body = { model, stream: true, input: 'Use notes__find', tools }
      const events = readSseData(await (await sendRequest(bench(), 'responses', body)).text())
      const types = events.map(({ type }) => type)
      expect(types).toContain('response.mcp_call.in_progress')
      expect(types).toContain('response.mcp_call.completed')
      expect(events.at(-1)?.response.output.map(({ type }: JsonObject) => type)).toEqual([
        'mcp_list_tools',
        'mcp_call',
        'message',
      ])
    })

    test('a call waits for approval; approved it runs once, rejected it does not', async () => {
      const before = executed
      const reply = await respond({ tools: [entry] })
      const request = reply.output.find(({ type }: JsonObject) => type === 'mcp_approval_request')
      expect(request).toMatchObject({ server_label: 'notes', name: 'find' })
      expect(executed).toBe(before)
      const answer = (approve: boolean) =>
        respond({
          tools: [entry],
          input: [
            { role: 'user', content: 'Use notes__find' },
            ...reply.output,
            { type: 'mcp_approval_response', approval_request_id: request.id, approve },
          ],
        })
      const rejected = await answer(false)
      expect(executed).toBe(before)
      expect(JSON.stringify(rejected.output)).toContain('did not approve')
      const approved = await answer(true)
      expect(executed).toBe(before + 1)
      expect(approved.output.map(({ type }: JsonObject) => type)).toContain('mcp_call')
      expect(JSON.stringify(approved.output)).toContain('4711')
    })

    for (const stream of [false, true]) {
      test(`a call that waits for approval ends the reply, after the other calls: stream ${stream}`, async () => {
        const { first } = bench()
        first.requests.length = 0
        first.enqueue(replyWithCalls(['notes__find', 'datetime'], stream))
        const tools = [entry, { type: 'service:datetime' }]
        const reply = await readReply({ model: 'test/chat', stream, tools })
        expect(listTypes(reply)).toEqual(['mcp_list_tools', 'service:datetime', 'mcp_approval_request'])
        expect(first.requests).toHaveLength(1)
      })

      test(`a provider that fails before its first content is replaced: stream ${stream}`, async () => {
        const { first, second } = bench()
        const error = { message: 'overloaded', code: 500 }
        const start = { choices: [{ index: 0, delta: { role: 'assistant' }, finish_reason: null }] }
        const frames = [start, { error }].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
        first.enqueue(stream ? { sse: frames } : { json: { error } })
        second.enqueue(replyWithCalls(['notes__find'], stream), replyWithText('Done', stream))
        const tools = [{ ...entry, require_approval: 'never' }]
        const reply = await readReply({ model: 'test/both-chat', stream, tools })
        expect(listTypes(reply)).toEqual(['mcp_list_tools', 'mcp_call', 'message'])
      })
    }

    test('mcp_servers of the Messages format', async () => {
      const body = {
        model,
        max_tokens: 1000,
        messages: [{ role: 'user', content: 'Use notes__find' }],
        mcp_servers: [{ type: 'url', name: 'notes', url, authorization_token: secret }],
      }
      const reply = await readJson(sendRequest(bench(), 'messages', body))
      expect(reply.content.map(({ type }: JsonObject) => type)).toEqual([
        'mcp_tool_use',
        'mcp_tool_result',
        'text',
      ])
      expect(reply.content[0]).toMatchObject({ name: 'find', server_name: 'notes' })
      expect(reply.content[1]).toMatchObject({ is_error: false, content: [{ text: 'The note says 4711.' }] })
    })

    test('R40 Chat runs the tools of a server, and its secret is sent to no provider', async () => {
      const messages = [{ role: 'user', content: 'Use notes__find' }]
      const send = (body: JsonObject) => sendRequest(bench(), 'chat', { messages, ...body })
      const ran = executed
      const tools = [{ ...entry, require_approval: 'never' }]
      const reply = await readJson(send({ model, tools }))
      expect(reply.choices[0].message.content).toContain('4711')
      expect(executed).toBe(ran + 1)
      expect(JSON.stringify(reply)).not.toContain(secret)
      bench().first.enqueue(replyWithText('No tool needed.'))
      expect((await send({ model: 'test/chat', tools })).status).toBe(200)
      expect(JSON.stringify(bench().first.requests)).not.toContain(secret)
    })

    test.each([
      ['tools[0].require_approval', 'chat', { tools: [entry] }],
      ['tools[0].connector_id', 'chat', { tools: [{ ...entry, server_url: undefined, connector_id: 'c' }] }],
      ['tools[0].connector_id', 'responses', { tools: [{ ...entry, connector_id: 'c' }] }],
      [
        'mcp_servers',
        'chat',
        { mcp_servers: [{ type: 'url', name: 'n', url, authorization_token: secret }] },
      ],
      ['mcp_servers', 'responses', { mcp_servers: [{ type: 'url', name: 'n', url }] }],
      ['tools[0].type', 'messages', { tools: [entry] }],
    ] as const)(
      'R40 %s in %s, of a server that no provider connects to, is a 400',
      async (field, format, body) => {
        const count = bench().first.requests.length
        const response = await sendRequest(bench(), format, { model: `test/${format}`, ...body })
        const { error } = await readJson(response)
        expect([response.status, error.message]).toEqual([400, expect.stringContaining(field)])
        expect(bench().first.requests.length).toBe(count)
      },
    )

    test('R35 the filters of prompts read the descriptions of tools', async () => {
      const { first, server } = bench()
      const filter = (content_filter_builtins: object[]) =>
        setKeyGuardrail(server, { content_filter_builtins })
      const send = () => sendRequest(bench(), 'responses', { model: 'test/chat', tools: [entry] })
      first.requests.length = 0
      await filter([{ slug: 'email', action: 'redact' }])
      expect((await send()).status).toBe(200)
      expect(first.requests[0]?.text).toContain('Deletes a note of [EMAIL]')
      await filter([{ slug: 'email', action: 'block' }])
      expect((await send()).status).toBe(403)
      expect(first.requests).toHaveLength(1)
      await filter([])
    })

    test('only allowed tools are offered', async () => {
      const listed = async (allowed_tools: unknown) => {
        const reply = await respond({
          tools: [{ ...entry, allowed_tools, require_approval: 'never' }],
          input: 'hi',
        })
        return reply.output[0].tools.map(({ name }: JsonObject) => name)
      }
      expect(await listed(['delete'])).toEqual(['delete'])
      expect(await listed({ read_only: true })).toEqual(['find'])
    })

    test.each([
      ['http://127.0.0.1:1/mcp', 502, 'provider_unavailable'],
      [`${url}/status/500`, 502, 'provider_unavailable'],
      [`${url}/status/503`, 502, 'provider_unavailable'],
      [`${url}/garbage`, 502, 'provider_unavailable'],
      [`${url}/status/504`, 408, 'timeout'],
      [`${url}/status/429`, 429, 'rate_limit_exceeded'],
    ])(
      'a server that fails is an error that a retry may solve: %s',
      async (server_url, status, error_type) => {
        for (const stream of [false, true]) {
          const tools = [{ ...entry, server_url }]
          const response = await sendRequest(bench(), 'responses', { model, input: 'hi', stream, tools })
          const { error } = await readJson(response)
          expect([response.status, response.headers.get('x-should-retry')]).toEqual([status, null])
          expect(error).toMatchObject({ metadata: { error_type } })
          expect(error.message).toStartWith('tools[0]: the tools of the MCP server could not be listed: ')
          expect(error.message).not.toMatch(/secret page|127\.0\.0\.1/)
        }
      },
    )

    test.each([
      ['responses', { tools: [{ ...entry, server_url: `${url}/status/401` }] }, 'tools[0].authorization'],
      ['responses', { tools: [{ ...entry, server_url: `${url}/status/403` }] }, 'tools[0].authorization'],
      [
        'responses',
        {
          tools: [
            { ...entry, server_url: `${url}/status/401`, authorization: null, headers: { 'x-key': 'a' } },
          ],
        },
        'tools[0].headers',
      ],
      [
        'messages',
        {
          max_tokens: 100,
          messages: [{ role: 'user', content: 'hi' }],
          mcp_servers: [{ type: 'url', name: 'n', url: `${url}/status/401`, authorization_token: secret }],
        },
        'mcp_servers[0].authorization_token',
      ],
      ['responses', { tools: [{ ...entry, server_url: `${url}/status/404` }] }, 'tools[0]'],
    ] as const)(
      'a server that refuses the request of %s %j is a 400 that names %s',
      async (format, body, field) => {
        const response = await sendRequest(bench(), format, { model, input: 'hi', ...body })
        const { error } = await readJson(response)
        expect([response.status, error.message.split(':')[0]]).toEqual([400, field])
        expect(error.message).not.toContain(secret)
      },
    )

    test('S5 a server that cannot be used is a 400 that names the entry, without its address', async () => {
      const refused = async (fields: JsonObject) => {
        const response = await sendRequest(bench(), 'responses', {
          model,
          input: 'hi',
          tools: [{ ...entry, ...fields }],
        })
        const { error } = (await response.json()) as { error: { message: string } }
        return [response.status, error.message] as const
      }
      const [status, message] = await refused({ server_url: 'http://127.0.0.1:2/mcp' })
      expect(status).toBe(400)
      expect(message).toStartWith('tools[0]')
      expect(message).not.toContain(secret)
      expect((await refused({ server_label: 'a b' }))[1]).toContain('tools[0].server_label')
      expect((await refused({ headers: { host: 'x' } }))[1]).toContain('tools[0].headers')
    })
  },
  (first, second) =>
    buildSettings(first, second, `egress: { allow_private: ["127.0.0.1:${http.port}", "127.0.0.1:1"] }`)
      .replace(
        'providers:\n',
        `providers:\n  - { slug: openai, base_url: "${first}", api_key: vendor-secret }\n`,
      )
      .replace('models:\n', `models:\n${connecting}${mixed}`),
)
