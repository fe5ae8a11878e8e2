import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { McpServer, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { z } from 'zod'
import type { JsonObject } from '../../src/platform/json/json-values.ts'
import { clearOutbox, deliver } from '../delivery/support.ts'
import { setKeyGuardrail } from '../guardrails/support.ts'
import { listMadeUpNames } from '../support/conventions.ts'
import { describeOnSqlite, type TestServer } from '../support/harness.ts'
import { type ReceivedSpan, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { modelSettings } from '../tools/support.ts'

const traceId = '0af7651916cd43dd8448eb211c80319c'
const clientSpanId = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${clientSpanId}-01`
const canary = 'CANARY-7f3a9c51e8'
const modes = ['whole', 'streamed'] as const

const own = startOtlpReceiver()
const destination = startOtlpReceiver()
/** The metadata of calls that the MCP server has received. */
const metadata: unknown[] = []
const mcp = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: serveMcp })
afterAll(() => Promise.all([own.stop(), destination.stop(), mcp.stop(true)]))

async function serveMcp(request: Request): Promise<Response> {
  const server = new McpServer({ name: 'notes', version: '1' })
  const inputSchema = z.object({ title: z.string() })
  server.registerTool('find', { description: 'Finds a note.', inputSchema }, async (_input, context) => {
    metadata.push(context.mcpReq._meta)
    return { content: [{ type: 'text', text: canary }] }
  })
  server.registerTool('lose', { description: 'Loses a note.', inputSchema }, async () => ({
    content: [{ type: 'text', text: canary }],
    isError: true,
  }))
  const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  await server.connect(transport)
  return transport.handleRequest(request)
}

const notes = {
  type: 'mcp',
  server_label: 'notes',
  server_url: `http://127.0.0.1:${mcp.port}/${canary}`,
  require_approval: 'never',
}
const advisor = { type: 'service:advisor', parameters: { model: 'test/inner' } }
const subagent = {
  type: 'service:subagent',
  parameters: { model: 'test/inner', tools: [{ type: 'service:datetime' }] },
}

const settings = `
moderation: { model: sandbox/moderator }
egress: { allow_private: ["127.0.0.1:${mcp.port}", "${new URL(destination.url).host}"] }
${modelSettings}`

const byId = (spans: readonly ReceivedSpan[]) => new Map(spans.map((span) => [span.spanId, span]))

/** Checks that the spans are one tree; returns its root. */
function expectTree(spans: readonly ReceivedSpan[], trace = traceId): ReceivedSpan {
  const known = byId(spans)
  expect(known.size).toBe(spans.length)
  expect(new Set(spans.map((span) => span.traceId))).toEqual(new Set([trace]))
  const roots = spans.filter(({ parentSpanId }) => !known.has(parentSpanId))
  expect(roots).toHaveLength(1)
  const [root] = roots
  if (!root) throw new Error('the trace has no root')
  return root
}

function find(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const span = spans.find((candidate) => candidate.name === name)
  if (!span) throw new Error(`no span ${name} among ${spans.map((each) => each.name).join(', ')}`)
  return span
}

function listChildren(spans: readonly ReceivedSpan[], { spanId }: ReceivedSpan): string[] {
  return spans.filter(({ parentSpanId }) => parentSpanId === spanId).map(({ name }) => name)
}

async function openDestination(server: TestServer, sampling_rate = 1): Promise<void> {
  await server.call('PATCH', `/workspaces/${server.own.workspace.id}`, {
    body: { is_observability_broadcast_enabled: true },
  })
  const created = await server.call('POST', '/observability/destinations', {
    body: {
      type: 'otel-collector',
      name: 'Collector',
      config: { endpoint: `${destination.url}/v1/traces`, protocol: 'json' },
      sampling_rate,
    },
  })
  expect(created.status).toBe(201)
}

async function send(
  server: TestServer,
  body: JsonObject,
  headers: Record<string, string> = { traceparent },
): Promise<string> {
  const response = await fetch(`${server.url}/api/v1/responses`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${server.own.inferenceKey}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify({ model: 'test/outer', ...body }),
  })
  expect(response.status).toBe(200)
  const text = await response.text()
  await deliver(server)
  await server.gateway.tracer?.exporter.flush()
  return text
}

describeOnSqlite(
  'the trace of a request with tools, plugins and nested requests',
  (server) => {
    beforeAll(async () => {
      await setKeyGuardrail(server(), { moderation: { action: 'flag' } })
    })
    beforeEach(async () => {
      await clearOutbox(server())
      await openDestination(server())
      await server().gateway.tracer?.exporter.flush()
      for (const { spans, requests } of [own, destination]) spans.length = requests.length = 0
      metadata.length = 0
    })

    test.each(modes)('is one tree, in destinations as in the export of the operator (%s)', async (mode) => {
      const text = await send(server(), {
        input: 'Ask the advisor, use notes__find, notes__lose and let subagent use datetime',
        tools: [notes, advisor, subagent],
        plugins: [{ id: 'response-healing' }],
        stream: mode === 'streamed',
      })
      expect(text).toContain(mode === 'streamed' ? 'event: response.completed' : '"status":"completed"')
      const root = expectTree(own.spans)
      expect(root).toMatchObject({ name: 'POST /responses', kind: 2, parentSpanId: clientSpanId })
      expect(root.attributes).toMatchObject({ 'gen_ai.request.stream': mode === 'streamed' })
      expect(expectTree(destination.spans)).toMatchObject({
        spanId: root.spanId,
        kind: 3,
        parentSpanId: clientSpanId,
      })
      const sent = byId(destination.spans)
      for (const span of own.spans) {
        expect(listMadeUpNames(span.attributes)).toEqual([])
        const received = sent.get(span.spanId)
        // It ends after the event is written.
        if (span.name === 'settle') expect(received).toBeUndefined()
        else expect(received).toMatchObject({ parentSpanId: span.parentSpanId, code: span.code })
        if (span.name === 'settle' || 'headgate.generation_id' in span.attributes) continue
        const { name, kind, start, end, attributes } = span
        expect(received).toMatchObject({ name, kind, start, end, attributes })
      }
      const settled = own.spans.filter(({ name }) => name === 'settle')
      expect(destination.spans).toHaveLength(own.spans.length - settled.length)
      for (const { attributes } of destination.spans) expect(listMadeUpNames(attributes)).toEqual([])
      expect(own.requests.map(({ text }) => text).join()).not.toContain(canary)
    })

    test.each(modes)(
      'has plugins, tools, calls of MCP servers, moderation and nested requests in their places (%s)',
      async (mode) => {
        await send(server(), {
          input: 'Ask the advisor, use notes__find and notes__lose',
          tools: [notes, advisor],
          plugins: [{ id: 'response-healing' }],
          stream: mode === 'streamed',
        })
        const { spans } = own
        const root = expectTree(spans)
        expect(listChildren(spans, root)).toEqual(
          expect.arrayContaining([
            'guard',
            'plugins',
            'tools/list',
            'execute_tool find',
            'execute_tool advisor',
          ]),
        )
        expect(listChildren(spans, find(spans, 'plugins'))).toEqual(['plugin response-healing'])
        expect(listChildren(spans, find(spans, 'guard'))).toEqual(['moderations sandbox/moderator'])
        expect(listChildren(spans, find(spans, 'execute_tool advisor'))).toEqual(['chat test/inner'])
        const address = { 'server.address': '127.0.0.1', 'server.port': mcp.port }
        expect(find(spans, 'tools/list')).toMatchObject({
          kind: 3,
          attributes: { 'mcp.method.name': 'tools/list', ...address },
        })
        const called = find(spans, 'execute_tool find')
        expect(called).toMatchObject({
          kind: 3,
          code: 0,
          attributes: {
            'gen_ai.operation.name': 'execute_tool',
            'gen_ai.tool.name': 'find',
            'gen_ai.tool.call.id': expect.any(String),
            'mcp.method.name': 'tools/call',
            ...address,
          },
        })
        expect(find(spans, 'execute_tool lose')).toMatchObject({
          code: 2,
          attributes: { 'error.type': 'tool_error' },
        })
        // The MCP server continues the trace.
        expect(metadata).toEqual([
          expect.objectContaining({ traceparent: `00-${traceId}-${called.spanId}-01` }),
        ])
        for (const { name, kind } of spans.filter((span) => span.name.startsWith('attempt ')))
          expect([name, kind]).toEqual(['attempt sandbox', 3])
        const nested = find(spans, 'chat test/inner')
        expect(nested).toMatchObject({ kind: 3, attributes: { 'headgate.request.purpose': 'advisor' } })
        expect(listChildren(spans, nested)).toEqual(
          expect.arrayContaining(['guard', 'route', 'attempt sandbox', 'settle']),
        )
        const received = byId(destination.spans).get(nested.spanId)
        expect(received).toMatchObject({
          name: nested.name,
          kind: 3,
          attributes: { 'headgate.request.purpose': 'advisor' },
        })
      },
    )

    test.each(modes)(
      'a panel that a plugin adds, with a member that fails, is below its tool (%s)',
      async (mode) => {
        const panel = { analysis_models: ['test/inner', 'test/broken'], model: 'test/inner' }
        await send(server(), {
          input: 'Ask fusion now',
          plugins: [{ id: 'fusion', ...panel }],
          stream: mode === 'streamed',
        })
        for (const { spans } of [own, destination]) {
          expectTree(spans)
          const children = listChildren(spans, find(spans, 'execute_tool fusion'))
          expect(children.sort()).toEqual(['chat test/broken', 'chat test/inner', 'chat test/inner'])
          expect(find(spans, 'chat test/broken').code).toBe(2)
        }
      },
    )

    test('a destination samples all requests of a trace or none', async () => {
      await clearOutbox(server())
      await openDestination(server(), 0.5)
      for (let count = 0; count < 6; count++)
        await send(server(), { input: 'Ask the advisor now', tools: [advisor] }, {})
      const traces = Map.groupBy(destination.spans, (span) => span.traceId)
      for (const [id, spans] of traces) {
        expectTree(spans, id)
        expect(find(spans, 'chat test/inner')).toBeDefined()
      }
      const roots = own.spans.filter(({ name }) => name === 'POST /responses')
      expect(new Set(roots.map((span) => span.traceId)).size).toBe(6)
    })

    test('a trace that the body names has the nested requests too', async () => {
      const named = '1'.repeat(32)
      await send(server(), {
        input: 'Let subagent use datetime',
        tools: [subagent],
        trace: { trace_id: named },
      })
      expect(expectTree(destination.spans, named).parentSpanId).toBe('')
      expect(find(destination.spans, 'execute_tool datetime')).toBeDefined()
      expectTree(own.spans)
    })
  },
  { settings, environment: { OTEL_EXPORTER_OTLP_ENDPOINT: own.url } },
)
